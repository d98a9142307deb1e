"""Reports, holds and actions of moderators and their audit; the admin site's own pages."""
