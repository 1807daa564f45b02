# What the web page costs: CAPSTAN is the program (tests/web/figures.py says which figures there are).
set -u
PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$(dirname "$0")/../tests/web/figures.py"
