"""Parts of the pages: static files, the manifest, the theme, pages of problems."""
