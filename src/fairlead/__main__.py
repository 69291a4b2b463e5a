from fairlead.cli import main

raise SystemExit(main())
