"""Parts of the pages: static files and bundles, the manifest, the theme, pages of problems."""
