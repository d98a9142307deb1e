"""Create, change and delete users and their tokens. Signing up also writes them (``apps.accounts.sign_in``)."""

from apps.accounts.operations.closing import close_account as close_account
from apps.accounts.operations.closing import keep_account as keep_account
from apps.accounts.operations.deletion import delete_account as delete_account
from apps.accounts.operations.deletion import delete_due_accounts as delete_due_accounts
from apps.accounts.operations.sanctions import ban as ban
from apps.accounts.operations.sanctions import end_suspension as end_suspension
from apps.accounts.operations.sanctions import lift_ban as lift_ban
from apps.accounts.operations.sanctions import suspend as suspend
from apps.accounts.operations.storage import count_all as count_all
from apps.accounts.operations.storage import count_storage as count_storage
from apps.accounts.operations.storage import stored_bytes as stored_bytes
from apps.accounts.operations.tokens import create_renewable_token as create_renewable_token
from apps.accounts.operations.tokens import create_token as create_token
from apps.accounts.operations.tokens import record_token_use as record_token_use
from apps.accounts.operations.tokens import renew_token as renew_token
from apps.accounts.operations.tokens import revoke_token as revoke_token
from apps.accounts.operations.users import edit_profile as edit_profile
from apps.accounts.operations.users import ensure_user as ensure_user
