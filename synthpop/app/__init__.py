"""The app: protect a file, judge a release, create a population, keep a ledger in the browser.

The app computes nothing of its own: every number comes from the public functions of ``synthpop``
and ``riskeval``. Its modules, from the ground up:

``state``
    Records of the state of a project: plain values that go to and from JSON.
``project``
    The state of a project and `perform`, which applies a command to it. A command is a pure
    function from a state and plain arguments to a state; each one is recorded. No browser.
``forms``
    Forms from the signatures and docstrings of public functions.
``child``, ``worker``
    A child process for each tab does the long work and can be killed. Messages are JSON lines;
    tables and pages are files in the private folder of the project.
``tab``
    One tab of a browser: its project, folder, worker and results; knows no browser either.
``folders``
    Private folders, uploads, and projects as archives.
``guard``
    Who may speak to the server: address token, host, origin, sizes.
``tabs``, ``transfers``, ``server``, ``serve``
    The tabs of a server; uploads and downloads; the Shiny app, which receives commands and sends
    the parts of the page that have changed; its start on loopback.
``elements``, ``shell``, ``texts``, ``german``
    HTML parts, the frame around all pages, and the catalogue of texts.
``registry``
    The journeys.

Each journey (``protect``, ``judge``, ``create``, ``ledger``) is a folder with the same modules:

``state``
    Its part of the project, and its commands.
``jobs``
    What its child process computes: functions of a workspace, the project and plain arguments.
one module a page
    `render(view)` returns the HTML of the page from the state and the results: a projection.

To add a page, write its module and name it in ``journey.py`` of the folder; to add a command or a
job, write the function and add it to ``COMMANDS`` or ``JOBS`` of the journey.
"""
