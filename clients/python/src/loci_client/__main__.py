import sys

from loci_client.command import main

sys.exit(main())
