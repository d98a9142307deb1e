"""Readers of documents of other programs. Each returns ``Found``, in Loci's terms; none reads the database."""
