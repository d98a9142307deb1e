"""Django settings. Everything that differs between installations is read from the environment.

Each module has one purpose. Django reads the names in capitals of all of them here.
"""

# ruff: noqa: F403 - each module gives all of its settings

from config.env import env
from config.settings.accounts import *
from config.settings.api import *
from config.settings.applications import *
from config.settings.database import *
from config.settings.files import *
from config.settings.installation import *
from config.settings.language_models import *
from config.settings.languages import *
from config.settings.limits import *
from config.settings.logs import *
from config.settings.mail import *
from config.settings.moderation import *
from config.settings.security import *
from config.settings.tasks import *

ENVIRONMENT_VARIABLES = sorted(env.variables)  # all that were read, by name
