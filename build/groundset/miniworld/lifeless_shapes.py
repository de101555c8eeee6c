# SPDX-FileCopyrightText: groundset contributors
# SPDX-License-Identifier: Apache-2.0
"""The shapes of vehicles, food and furniture, each in a frame that it fills exactly."""

from __future__ import annotations

from groundset.miniworld.primitives import Shape, bar, ellipse, polygon, rectangle, ring, wheel

LIFELESS: dict[str, Shape] = {
    "car": Shape(
        160,
        66,
        (
            polygon("main", (32, 30), (52, 0), (104, 0), (128, 30)),
            polygon("main", (0, 34), (8, 28), (130, 28), (154, 34), (160, 42), (160, 54), (0, 54)),
            polygon("glass", (42, 28), (57, 6), (76, 6), (76, 28)),
            polygon("glass", (82, 28), (82, 6), (101, 6), (117, 28)),
            rectangle("shade", 0, 46, 160, 54),
            rectangle("lamp", 150, 37, 160, 43),
            rectangle("sauce", 0, 37, 7, 43),
            rectangle("ink", 84, 33, 94, 36),
            *wheel(34, 52, 14),
            *wheel(124, 52, 14),
        ),
    ),
    "bus": Shape(
        200,
        90,
        (
            rectangle("main", 0, 0, 200, 78),
            *(rectangle("glass", 10 + 30 * n, 12, 34 + 30 * n, 36) for n in range(5)),
            rectangle("glass", 164, 12, 194, 70),
            rectangle("ink", 178, 12, 180, 70),
            rectangle("shade", 0, 50, 158, 56),
            rectangle("lamp", 194, 62, 200, 70),
            *wheel(42, 76, 14),
            *wheel(140, 76, 14),
        ),
    ),
    "truck": Shape(
        200,
        96,
        (
            rectangle("ink", 0, 72, 196, 82),
            rectangle("main", 0, 0, 136, 74),
            *(rectangle("shade", 14 + 28 * n, 6, 17 + 28 * n, 68) for n in range(5)),
            polygon("main", (142, 18), (172, 18), (190, 46), (200, 50), (200, 78), (142, 78)),
            polygon("glass", (150, 24), (169, 24), (182, 46), (150, 46)),
            rectangle("lamp", 193, 56, 200, 64),
            *wheel(32, 81, 15),
            *wheel(70, 81, 15),
            *wheel(168, 81, 15),
        ),
    ),
    "bicycle": Shape(
        150,
        92,
        (
            ring("ink", 32, 60, 32, 5),
            ring("ink", 118, 60, 32, 5),
            ellipse("main", 32, 60, 6, 6),
            ellipse("main", 118, 60, 6, 6),
            bar("main", (32, 60), (70, 62), 7),
            bar("main", (32, 60), (56, 22), 7),
            bar("main", (52, 14), (70, 62), 8),
            bar("main", (56, 24), (102, 18), 8),
            bar("main", (70, 62), (104, 20), 8),
            bar("main", (100, 6), (118, 60), 8),
            rectangle("ink", 40, 8, 66, 14),
            polygon("ink", (86, 0), (108, 0), (108, 7), (86, 7)),
            ellipse("steel", 70, 62, 8, 8),
        ),
    ),
    "boat": Shape(
        160,
        150,
        (
            rectangle("wood", 76, 0, 82, 116),
            polygon("main", (86, 6), (86, 104), (146, 104)),
            polygon("main", (72, 18), (72, 104), (22, 104)),
            polygon("main", (0, 112), (160, 112), (136, 150), (26, 150)),
            polygon("shade", (0, 112), (160, 112), (156, 120), (5, 120)),
            *(ellipse("snow", 50 + 30 * n, 132, 6, 6) for n in range(3)),
        ),
    ),
    "apple": Shape(
        72,
        78,
        (
            ellipse("main", 24, 48, 24, 30),
            ellipse("main", 48, 48, 24, 30),
            ellipse("light", 18, 38, 6, 9),
            bar("wood", (36, 26), (40, 2), 5),
            polygon("leaf", (40, 12), (54, 0), (66, 4), (56, 16)),
        ),
    ),
    "orange": Shape(
        76,
        76,
        (
            ellipse("main", 38, 38, 38, 38),
            ellipse("light", 24, 24, 9, 8),
            *(
                ellipse("shade", x, y, 1.6, 1.6)
                for x, y in ((44, 30), (54, 44), (38, 52), (26, 46), (50, 60), (60, 32))
            ),
            polygon("leaf", (38, 12), (46, 4), (60, 6), (52, 14)),
            ellipse("wood", 37, 11, 4, 3),
        ),
    ),
    "banana": Shape(
        130,
        62,
        (
            polygon(
                "main",
                (0, 14),
                (12, 8),
                (26, 24),
                (50, 34),
                (78, 34),
                (104, 22),
                (114, 4),
                (124, 6),
                (130, 20),
                (118, 42),
                (94, 58),
                (64, 62),
                (34, 54),
                (12, 36),
            ),
            polygon(
                "shade",
                (8, 24),
                (30, 42),
                (64, 50),
                (96, 46),
                (118, 30),
                (112, 44),
                (92, 56),
                (64, 60),
                (34, 52),
                (14, 36),
            ),
            polygon("ink", (112, 6), (116, 0), (126, 2), (124, 9)),
            polygon("ink", (0, 14), (6, 11), (9, 18), (4, 22)),
        ),
    ),
    "pizza": Shape(
        130,
        112,
        (
            ellipse("crust", 65, 56, 65, 56),
            ellipse("main", 65, 56, 55, 46),
            *(ellipse("sauce", x, y, 10, 8) for x, y in ((42, 34), (82, 30), (62, 58), (34, 64), (94, 62), (66, 86))),
            *(ellipse("leaf", x, y, 4, 3) for x, y in ((62, 38), (48, 78), (86, 78), (100, 44))),
            bar("crust", (65, 4), (65, 108), 2),
            bar("crust", (6, 56), (124, 56), 2),
        ),
    ),
    "donut": Shape(
        110,
        92,
        (
            ellipse("crust", 55, 46, 55, 46),
            ellipse("main", 55, 42, 48, 37),
            *(
                bar(fill, (x, y), (x + 5, y + 3), 3)
                for fill, x, y in (
                    ("snow", 24, 32),
                    ("lamp", 34, 56),
                    ("snow", 46, 16),
                    ("leaf", 66, 14),
                    ("lamp", 84, 32),
                    ("snow", 86, 50),
                    ("leaf", 72, 64),
                    ("snow", 50, 68),
                    ("leaf", 18, 46),
                )
            ),
            ellipse("crust", 55, 42, 17, 13),
            ellipse("hole", 55, 44, 13, 9),
        ),
    ),
    "carrot": Shape(
        150,
        52,
        (
            bar("leaf", (34, 26), (4, 6), 7),
            bar("leaf", (34, 28), (4, 46), 7),
            polygon("leaf", (36, 22), (0, 22), (0, 30), (36, 32)),
            polygon("main", (30, 6), (42, 0), (110, 18), (150, 32), (110, 38), (44, 52), (30, 46)),
            *(bar("shade", (x, 8 + x / 12), (x + 4, 18 + x / 12), 2.5) for x in (56, 84, 112)),
            *(bar("shade", (x, 34), (x + 3, 42 - x / 20), 2.5) for x in (48, 72, 96)),
        ),
    ),
    "cake": Shape(
        120,
        116,
        (
            *(rectangle("snow", x, 14, x + 6, 38) for x in (37, 57, 77)),
            *(ellipse("lamp", x + 3, 8, 4, 8) for x in (37, 57, 77)),
            ellipse("steel", 60, 106, 60, 10),
            rectangle("main", 10, 46, 110, 102),
            ellipse("main", 60, 102, 50, 9),
            ellipse("light", 60, 45, 50, 11),
            rectangle("cream", 10, 72, 110, 79),
            *(ellipse("light", 18 + 14 * n, 54, 7, 8) for n in range(7)),
        ),
    ),
    "hot dog": Shape(
        150,
        58,
        (
            polygon(
                "main",
                (0, 34),
                (10, 12),
                (30, 0),
                (120, 0),
                (140, 12),
                (150, 34),
                (138, 52),
                (120, 58),
                (30, 58),
                (12, 52),
            ),
            polygon("sauce", (4, 26), (14, 12), (136, 12), (146, 26), (136, 36), (14, 36)),
            polygon("shade", (4, 34), (146, 34), (138, 52), (120, 58), (30, 58), (12, 52)),
            *(bar("mustard", (24 + 17 * n, 28 - 10 * (n % 2)), (41 + 17 * n, 18 + 10 * (n % 2)), 5) for n in range(6)),
        ),
    ),
    "cup": Shape(
        80,
        72,
        (
            ring("main", 58, 36, 22, 7),
            polygon("main", (0, 6), (60, 6), (54, 66), (46, 72), (14, 72), (6, 66)),
            ellipse("light", 30, 7, 30, 7),
            ellipse("wood", 30, 8, 25, 5),
        ),
    ),
    "bench": Shape(
        160,
        80,
        (
            rectangle("ink", 14, 4, 21, 80),
            rectangle("ink", 139, 4, 146, 80),
            rectangle("main", 0, 0, 160, 12),
            rectangle("main", 0, 18, 160, 30),
            rectangle("main", 0, 44, 160, 54),
        ),
    ),
}
