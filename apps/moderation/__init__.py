"""Reports, holds, actions of moderators with their audit log, and the pages of the admin site."""
