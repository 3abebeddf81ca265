"""A stepper that follows a served cluster, and whose newest step is the cluster's present."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from threading import Event, Thread
from time import monotonic
from typing import Self

import traitlets

from kipviz.cluster.world import host_of
from kipviz.serving.serve import Server
from kipviz.views.role_cards.own_view import OwnView
from kipviz.widgets.live.live_lines import FOLLOWED_MAX, Growth, LiveLines, Place
from kipviz.widgets.pages import payload as payloads
from kipviz.widgets.pages.score import Score
from kipviz.widgets.stepping.stepper import Stepper

# How long the follower waits for something new before it looks whether the stepper still exists.
LOOKS_EVERY_S = 1.0
# A page is told of new steps at most so often, and the follower rests three times as long as it worked: the clients and
# the cluster they use are in the same process.
TOLD_EVERY_S = 0.1
POLLS_NAMED = 2  # of the long polls that wait
RESTS = 3.0
# The name by which ipykernel 7.4 finds a widget's own choice of a subshell; no public name has it.
IPYKERNEL_S_CHOICE = "_reply_subshell_for"


class LiveStepper(Stepper):
    """The stepper of a server of `kipviz.serve`: it follows what the clients do.

    At the newest step it shows the cluster that the clients use: what is chosen there happens there. Elsewhere a choice
    makes a branch without the clients, as in every stepper. `go_back` takes the cluster itself back.

    Attributes:
        live: what the page says of the server, such as "1 client".
        following: whether it follows the server, and a choice at the newest step happens there.
    """

    live = traitlets.Unicode("").tag(sync=True)
    following = traitlets.Bool(True).tag(sync=True)

    lab: LiveLines

    def __init__(self, server: Server, views: tuple[OwnView, ...] = ()) -> None:
        """Show the server's run, at its newest step, and follow it from now on."""
        self._closed = Event()
        lab = LiveLines(server, views, self._find_place, self._grow)
        super().__init__(lab.payload, lab.respond)
        self.lab = lab
        self.branch, self.step = lab.place
        self._answer_beside_cells()
        self._show_state()
        Thread(target=self._follow, name="kipviz-follow", daemon=True).start()

    def go_back(self) -> Self:
        """Take the cluster back to the step at the cursor; it continues from there.

        Its clients cannot go back. Their connections are dropped, as a network failure would drop them, and they
        connect again. What was done since remains as a branch.

        Raises:
            ValueError: if the cursor is on a branch of the reader's own, or the server has stopped.
        """
        return self.ask("back")

    def ask(self, do: str, **more: object) -> Self:
        """Make a request at the cursor, as the page does; at the newest step the clients' cluster carries it out.

        Raises:
            ValueError: if it is not possible there, with the reason.
        """
        with self.lab.turn:
            self.lab.catch_up()
            return super().ask(do, **more)

    def set_state(self, sync_data: Mapping[str, object]) -> None:
        """Accept the page's values, while nothing else changes them."""
        with self.lab.turn:
            super().set_state(sync_data)

    def close(self) -> None:
        """Close the stepper; it follows the server no longer."""
        self._closed.set()
        super().close()

    def _answer_beside_cells(self) -> None:
        """Let the page's messages go to the subshell that the page names, so that it is answered while a cell waits.

        A cell with `commit_transaction()` ends only when the reader delivers its EndTxn. ipykernel 7.4 sends a widget's
        messages to the shell that last spoke to the page, and that is the one that waits; earlier versions have no such
        rule. Where the page names no subshell, as in Notebook 7, a client's call belongs on a thread of its own.
        """
        if hasattr(self.comm, IPYKERNEL_S_CHOICE):
            setattr(self.comm, IPYKERNEL_S_CHOICE, lambda _data, named: named)

    # -- following ---------------------------------------------------------------------------------

    def _find_place(self) -> Place:
        return self.branch, self.step, self.learned

    def _follow(self) -> None:
        """Follow the server until it stops, on a thread of its own: the kernel may be waiting for a client's call."""
        server = self.lab.server
        known = None
        try:
            while not self._closed.is_set():
                known = server.wait_news(known, LOOKS_EVERY_S)
                began = monotonic()
                with self.lab.turn:
                    self.lab.catch_up()
                    self._show_state()
                if server.stopped or self.lab.is_full:
                    return
                self._closed.wait(max(TOLD_EVERY_S, RESTS * (monotonic() - began)))
        except Exception as wrong:
            self.live, self.following = "the page follows no longer", False
            self.say(
                f"The page does not follow the cluster any more: {type(wrong).__name__}: {wrong}"
            )
            raise

    def _show_state(self) -> None:
        """Show how many clients are connected, and whether something waits for the reader."""
        server = self.lab.server
        if server.stopped:
            words = "the cluster has stopped"
        elif self.lab.is_full:
            words = f"the page follows {FOLLOWED_MAX} steps; kipviz.open(server) shows the others"
        else:
            clients = len(dict.fromkeys(name.split("/")[0] for name, *_ in server.clients()))
            waiting = server.waiting()
            what = "message" if waiting == len(server.held()) else "step"
            words = (
                "no client" if not clients else "1 client" if clients == 1 else f"{clients} clients"
            )
            if waiting:
                words += (
                    f", 1 {what} waits for you"
                    if waiting == 1
                    else f", {waiting} {what}s wait for you"
                )
            polls = [
                f"{poll.request} of {host_of(poll.source)} waits at B{poll.broker}"
                for poll in server.waiting_polls()
            ]
            if polls:
                more = f" and {len(polls) - POLLS_NAMED} more" if len(polls) > POLLS_NAMED else ""
                words += f", {', '.join(polls[:POLLS_NAMED])}{more}"
        later = server.step - server.kept
        if later:
            words += f"; the run's first {server.kept} steps are kept, {later} later ones are not"
        self.live = words
        self.following = not (server.stopped or self.lab.is_full)

    def _grow(self, growth: Growth) -> None:
        """Send the page new steps; a cursor at the newest step goes with them."""
        follows = (self.branch, self.step) == (0, self.last_step)
        self.__dict__.pop("_fingerprint", None)
        if growth.is_whole:
            self._known = payloads.read(growth.told)
            self._gained = Score(growth.told)
            with self.hold_sync():
                self.payload = dict(growth.told)
                self.branches, self.tree = [], {}
                self.branch, self.step = self.lab.place
            return
        payloads.read_branch({**growth.told, "id": 1, "name": "main", "parent": 0}, self._known)
        # In place: the page adds the new steps to its own copy, and one that is opened later gets them all.
        self.payload.update(self.lab.payload)
        self.send({"do": "grow", **growth.told})
        if follows:
            self._move_quietly(self.last_step)

    def _move_quietly(self, step: int) -> None:
        """Move the cursor as the page does by itself: to tell it so could undo a key that was pressed meanwhile."""
        with self._lock_property(step=step):
            self.step = step

    def _on_message(self, widget: object, content: object, buffers: object) -> None:
        if isinstance(content, Mapping) and content.get("do") == "whole":
            # A page that was away for a while has missed some steps.
            with contextlib.suppress(ValueError):
                self.send_state(["payload", "branches", "tree"])
            return
        super()._on_message(widget, content, buffers)
