"""Words for times, as alternatives of regular expressions. Pure."""

UNIT = (
    r"(?:hour|day|night|evening|morning|afternoon|week|weekend|fortnight|month|season|year|decade|century|centurie|moon"
    r"|winter|summer|spring|autumn|sunset|sunrise)s?"
)
LONG_UNITS = r"(?:hours|days|nights|weeks|months|seasons|years|decades|centuries)"
NUMBER = (
    r"(?:an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty"
    r"|ninety|hundred|thousand|\d+|several|few|some|many|couple(?: of)?|half|countless|long|another|nearly|almost"
    r"|about|barely|only|just|over|exactly|roughly|perhaps|maybe|full|whole|solid|good|and|or|the)"
)
NUMBERS = rf"(?:{NUMBER}[ -]){{0,5}}"
COUNT = rf"(?:{NUMBER}[ -]){{1,5}}"
DAYPART = r"(?:morning|dawn|daybreak|day|noon|afternoon|evening|night|dusk|twilight|sunrise|sunset|midnight)"
WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
MONTH = (
    r"(?:january|february|march|april|may|june|july|august|september|october|november|december)(?: \d\d?(?:st|nd|rd"
    r"|th)?)?"
)
SEASON = r"(?:spring|summer|autumn|fall|winter)"
FEAST = r"(?:christmas(?: eve| day)?|new year(?:'s(?: eve| day)?)?|halloween|easter|midsummer|midwinter|harvest day)"
SPAN = rf"(?:{DAYPART}|{WEEKDAY}(?: {DAYPART})?|{SEASON}|week|weekend|month|year)"
ORDINAL = (
    r"(?:first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|twelfth|\w+teenth|twentieth"
    r"|\d+(?:st|nd|rd|th)|last|final|next|following)"
)
HOUR = r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\d\d?)"
CLOCK = (
    rf"(?:\d\d?(?::\d\d)? ?(?:[ap]\.?m|o'clock)|\d\d:\d\d|{HOUR} o'clock|{HOUR}(?:-thirty)? (?:sharp|exactly"
    rf"|on the dot)|half past {HOUR}|(?:quarter|{HOUR}|twenty) (?:past|to) {HOUR})"
)
POINT = (
    rf"(?:first light|sun-?up|cockcrow|breakfast time|breakfast|noon|midday|noontime|lunchtime|sundown|nightfall"
    rf"|teatime"
    rf"|dinnertime|mid-?morning|mid-?afternoon|closing time|moonrise|dark|dawn|daybreak|dusk|twilight|sunrise|sunset"
    rf"|midnight|{CLOCK})"
)
STRETCH = (
    r"(?:mile|league|kilomet(?:re|er)|klick|light-year|block|street|floor|storey|stop|station|junction|exit|village"
    r"|town"
    r"|drink|round|glass|bottle|pint|beer|cup|coffee|song|hand|game|episode|film|page|chapter|course|mistake"
    r"|argument|attempt|failure|arrest|phone call|call|bar|shop|dress|bus|train|ferry|flight|transfer|change)s?"
)
GOES_BY = (
    r"(?:pass(?:es|ed)?|elapsed?|go(?:es)? by|went by|gone by|(?:slip|slipp|tick|drift|roll|fly|flew|flie|crawl"
    r"|creep|drag"
    r"|dragg|crept|grind|ground|whirl|whizz|trickl)(?:e?s|ed)? (?:by|past|away|on)|blur(?:s|red)?|wore on|wears? on"
    r"|(?:come|came)s? and (?:go|goes|went)|(?:turn|stretch|bleed|bled|melt|fade|become|became|roll)(?:s|ed"
    r"|es)? (?:in)?to"
    r" (?:\w+ ){0,2}(?:hours|days|weeks|months|years|dusk|night|evening|autumn|winter|spring|summer|dawn|morning))"
)
EVENT = (
    r"(?:breakfast|lunch|dinner|supper|tea|school|class(?:es)?|work|shift|training|practice|funeral|wedding|ceremony"
    r"|meeting|battle|feast|banquet|party|service|trial|game|match|concert|show|film|movie|performance|rehearsal"
    r"|shopping|mass|church|trip|journey|voyage|ride|drive|flight|march|climb|storm|war|exams?|lesson|lecture|surgery"
    r"|operation|debrief(?:ing)?|briefing|finals?|prom|audition|hearing|premiere|inspection|interview|ball|auction"
    r"|siege|hunt|harvest|holidays?|session|tournament|race|graduation|burial)"
)
