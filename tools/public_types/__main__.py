"""Write mstorch/_src/stubs, the stubs of the namespaces, and the list of torch's public names.

    python -m tools.public_types            # needs real torch beside mstorch
    python -m tools.public_types --check    # say which are not current
"""
import sys

from .writing import ROOT, files

if __name__ == "__main__":
    old = []
    for path, text in files().items():
        if not path.exists() or path.read_text() != text:
            old.append(path)
            if "--check" not in sys.argv:
                path.write_text(text)
    print(*(str(path.relative_to(ROOT)) for path in old), sep="\n")
    sys.exit(bool(old) and "--check" in sys.argv)
