"""What Loci adds to allauth's sign-up, passwords and second factors."""
