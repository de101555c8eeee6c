# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""COCO's own categories and licences, with the ids that the published files give them."""

from __future__ import annotations

_SUPERCATEGORIES = (
    ("person", "1 person"),
    (
        "vehicle",
        "2 bicycle, 3 car, 4 motorcycle, 5 airplane, 6 bus, 7 train, 8 truck, 9 boat",
    ),
    ("outdoor", "10 traffic light, 11 fire hydrant, 13 stop sign, 14 parking meter, 15 bench"),
    (
        "animal",
        "16 bird, 17 cat, 18 dog, 19 horse, 20 sheep, 21 cow, 22 elephant, 23 bear, 24 zebra, 25 giraffe",
    ),
    ("accessory", "27 backpack, 28 umbrella, 31 handbag, 32 tie, 33 suitcase"),
    (
        "sports",
        "34 frisbee, 35 skis, 36 snowboard, 37 sports ball, 38 kite, 39 baseball bat, 40 baseball glove, "
        "41 skateboard, 42 surfboard, 43 tennis racket",
    ),
    ("kitchen", "44 bottle, 46 wine glass, 47 cup, 48 fork, 49 knife, 50 spoon, 51 bowl"),
    (
        "food",
        "52 banana, 53 apple, 54 sandwich, 55 orange, 56 broccoli, 57 carrot, 58 hot dog, 59 pizza, 60 donut, 61 cake",
    ),
    ("furniture", "62 chair, 63 couch, 64 potted plant, 65 bed, 67 dining table, 70 toilet"),
    ("electronic", "72 tv, 73 laptop, 74 mouse, 75 remote, 76 keyboard, 77 cell phone"),
    ("appliance", "78 microwave, 79 oven, 80 toaster, 81 sink, 82 refrigerator"),
    ("indoor", "84 book, 85 clock, 86 vase, 87 scissors, 88 teddy bear, 89 hair drier, 90 toothbrush"),
)

CATEGORIES: list[dict[str, str | int]] = [
    {"supercategory": supercategory, "id": int(entry.split(" ", 1)[0]), "name": entry.split(" ", 1)[1]}
    for supercategory, entries in _SUPERCATEGORIES
    for entry in entries.split(", ")
]

CATEGORY_ID: dict[str, int] = {str(category["name"]): int(category["id"]) for category in CATEGORIES}

CC0_ID = 9
LICENCES: list[dict[str, str | int]] = [
    {"url": url, "id": number, "name": name}
    for number, name, url in (
        (
            1,
            "Attribution-NonCommercial-ShareAlike License",
            "http://creativecommons.org/licenses/by-nc-sa/2.0/",
        ),
        (2, "Attribution-NonCommercial License", "http://creativecommons.org/licenses/by-nc/2.0/"),
        (3, "Attribution-NonCommercial-NoDerivs License", "http://creativecommons.org/licenses/by-nc-nd/2.0/"),
        (4, "Attribution License", "http://creativecommons.org/licenses/by/2.0/"),
        (5, "Attribution-ShareAlike License", "http://creativecommons.org/licenses/by-sa/2.0/"),
        (6, "Attribution-NoDerivs License", "http://creativecommons.org/licenses/by-nd/2.0/"),
        (7, "No known copyright restrictions", "http://flickr.com/commons/usage/"),
        (8, "United States Government Work", "http://www.usa.gov/copyright.shtml"),
        (CC0_ID, "CC0 1.0 Universal", "https://creativecommons.org/publicdomain/zero/1.0/"),
    )
]
