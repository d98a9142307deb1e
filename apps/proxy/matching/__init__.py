"""Find the chat that a request continues, and plan what the request changes in it. Nothing here writes or locks.

The modules in the order in which they are used. Each is called by the one that it is indented under:

    finding         the chats that share something with a request, and the one that it continues
      comparing     what a request changes in one chat; asked directly where the client names the chat
        dividing    a turn into which the client has joined several messages
        unfolding   a turn into which the client has put instructions
        planning    the changes
          aligning  messages and turns that are equal
          pairing   messages and turns between those that the client has edited

``plans`` has what is compared and the ``ChangePlan``, ``keys`` the numbers that stand for texts.

An example. A chat has six messages, which the client knows; in its own copy a person has since edited the second one,
deleted the next two, and written a new one. It joins lines, and sends these five turns (0 to 4):

    stored                                  sent
    m1 user   Hello?                        0 user   Hello?
    m2 reply  Who is there?                 1 reply  Who is it?
    m3 user   A friend.
    m4 reply  Which one?
    m5 user   It is Mira.                   2 user   It is Mira.
    m6 reply  Come in. (line) Sit down.     3 reply  Come in. Sit down.
                                            4 user   Is it late?

The ``ChangePlan`` then has these values. Fields that aren't named are empty:

    matched      (0, 0), (4, 2), (5, 3)     m1, m5 and m6 are turns 0, 2 and 3; white space doesn't count
    edits        m2 with turn 1             the one reply between two equal turns
    respaced     m6 with turn 3             its words are the same
    deletions    m3, m4                     up to two exchanges: more would be left out of its context
    dropped_end  0, 0, m6                   nothing is left out after m6
    appended     turn 4
    anchor       None                       the reply follows a new message
    known        m1, m2, m5, m6, None       with the keys of turns 0 to 4

Had the client sent m1, m2 and m3 alone, to get another reply to m3, ``anchor`` would be m3 and ``known`` m1 to m4: the
reply m4 is kept, and gets another swipe. ``deletions`` would be m5 and m6, and ``dropped_end`` 1, 2, m4: if the request
names the chat, these two are deleted, else the client goes on in a branch after m4.
"""
