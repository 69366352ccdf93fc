"""Pages of other fonts, scripts, sizes and dirt, cleaned with the default settings; a table, worst first.

Fonts are Debian's: fonts-dejavu, fonts-liberation, fonts-noto-core. Run with the folder to make the pages in.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

FONTS = Path("/usr/share/fonts/truetype")
LATIN = "abcdefghijklmnopqrstuvwxyz"
PAGES = {
    "serif9": ("dejavu/DejaVuSerif", "acdeghkst", {"size": 50}),
    "sans9": ("dejavu/DejaVuSans", "abdeghnos", {"size": 50}),
    "bold": ("liberation/LiberationSerif-Bold", "aeinorstlc", {"size": 50}),
    "italic": ("noto/NotoSerif-Italic", "aeinorstlc", {"size": 50}),
    "mono": ("liberation/LiberationMono-Regular", "aeinorstlcdu", {"size": 48}),
    "alpha26": ("liberation/LiberationSerif-Regular", LATIN, {"size": 40}),
    "alphasans": ("liberation/LiberationSans-Regular", LATIN, {"size": 40}),
    "caps": ("liberation/LiberationSans-Bold", "ABCDEFGHIJKLMN", {"size": 44}),
    "digits": ("dejavu/DejaVuSans", "0123456789", {"size": 48}),
    "umlaut": ("liberation/LiberationSerif-Regular", "äöüaouijnse", {"size": 48}),
    "hebrew": ("noto/NotoSerifHebrew-Regular", "אבגדהוזחטיכלמנ", {"size": 52}),
    "runic": ("noto/NotoSansRunic-Regular", "ᚠᚢᚦᚨᚱᚲᚷᚹᚺᚾ", {"size": 52}),
    "greek": ("liberation/LiberationSerif-Regular", "αβγδεζηθκλμνπρσ", {"size": 48}),
    "cyr": ("liberation/LiberationSerif-Regular", "абвгдеыиклмнюш", {"size": 48}),
    "armen": ("noto/NotoSerifArmenian-Regular", "աբգդեզէըթժ", {"size": 50}),
    "deva": ("noto/NotoSansDevanagari-Regular", "कखगघचजटत", {"size": 54}),
    "devabold": ("noto/NotoSerifDevanagari-Bold", "दधनपबमयरलवशस", {"size": 44}),
    "devaworn": ("noto/NotoSansDevanagari-Regular", "कखगघचजटत", {"size": 60, "wear": 0.4}),
    "bengali": ("noto/NotoSerifBengali-Regular", "কখগঘচজটতনম", {"size": 54}),
    "bengalidirt": ("noto/NotoSansBengali-Regular", "কখগঘচজটতনম", {"size": 54, "dirt": 3.0}),
    "gurmukhi": ("noto/NotoSansGurmukhi-Regular", "ਕਖਗਘਚਜਟਤਨਮ", {"size": 54}),
    "arabic": ("dejavu/DejaVuSans", "ﺒﺘﺠﺴﺼﻄﻌﻔﻜﻠﻤﻬ", {"size": 54}),
    "georg": ("noto/NotoSerifGeorgian-Regular", "აბგდევზთიკ", {"size": 50}),
    "cherokee": ("noto/NotoSansCherokee-Regular", "ᎠᎡᎢᎣᎤᎥᎦᎧᎨ", {"size": 44}),
    "thai": ("noto/NotoSerifThai-Regular", "กขคงจชซญดต", {"size": 50}),
    "worn3": ("dejavu/DejaVuSerif", "abdeghmnst", {"size": 54, "wear": 0.6}),
    "worn5": ("liberation/LiberationSerif-Regular", "aeinorstlc", {"size": 54, "wear": 1.0}),
    "wornmono": ("liberation/LiberationMono-Regular", "aeinorstlcdu", {"size": 50, "wear": 0.8}),
    "dirt3": ("dejavu/DejaVuSerif", "abesy", {"size": 50, "dirt": 3.0}),
    "dirt3b": ("liberation/LiberationSerif-Regular", "aeinorst", {"size": 50, "dirt": 3.0}),
    "dpi150": ("liberation/LiberationSerif-Regular", "aeinorstlc", {"size": 24, "width": 1240, "height": 1754}),
    "dpi200": ("dejavu/DejaVuSans", "aeinorstlc", {"size": 30, "width": 1400, "height": 1900}),
    "tiny": ("dejavu/DejaVuSerif", "abesy", {"size": 20, "width": 900, "height": 1200}),
    "dpi600": ("liberation/LiberationSerif-Regular", "aeinorst", {"size": 150, "width": 3600, "height": 4600}),
    "huge": ("dejavu/DejaVuSerif-Bold", "abesy", {"size": 170, "width": 3300, "height": 4200}),
    "scat": ("dejavu/DejaVuSerif", "Rksey", {"size": 60, "layout": "scatter", "count": 350}),
    "few": ("dejavu/DejaVuSerif", "abes", {"size": 50, "width": 900, "height": 700}),
}


def measure(name: str, folder: Path) -> tuple[float, str]:
    """Make a page, clean it, and give its row of the table."""
    font, characters, options = PAGES[name]
    words = {"width": 1654, "height": 2339, "seed": sum(map(ord, name)), **options}
    stem = folder / name
    given = [text for key, value in words.items() for text in (f"--{key}", str(value))]
    run("synth", "-o", stem, "--font", FONTS / f"{font}.ttf", "--chars", characters, "--quiet", *given)
    found = folder / f"{name}.json"
    run("clean", f"{stem}.png", "-o", folder / f"{name}.out.png", "--json", found, "--quiet")
    if not found.exists():
        return 0.0, f"| {name} | nothing found | | | |"
    scored = json.loads(run("score", f"{stem}.truth.json", found, "--json"))
    types = f"{scored['types_found']} of {scored['types']}"
    counts = f"{scored['false_positives']} | {scored['substitutions']} | {types}"
    return scored["recall"], f"| {name} | {scored['recall']:.4f} | {counts} |"


def run(*words: object) -> str:
    """Run the program as a user does."""
    command = [sys.executable, "-m", "unblot", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    print("| page | recall | false positives | substitutions | types found |\n|---|---|---|---|---|")
    print("\n".join(row for _, row in sorted(measure(name, target) for name in PAGES)))
