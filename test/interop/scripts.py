# scripts.py - what both sides do, and must see
# SPDX-License-Identifier: BSD-3-Clause
"""A script is words for both sides, which script.h explains, and the lines that each must print. `ours` and `linux`
are pairs of these. A line that is missing, more or different is a failure."""
import re

MARK, REMARK, HEADING = "> ", "# ", "= "
COMPLAINTS = ("ours: ", "verbs: ")
# Words of ours: what its end sent again, and why; not printed where 0.
REMARKS = " ".join(f"info:{name}" for name in (
    "drop_stale_response", "early_probes", "retransmitted_packets", "local_ack_timeout_err", "packet_seq_err",
    "implied_nak_seq_err", "duplicate_request", "resp_remote_invalid_request"))


class Script:
    def __init__(self, name, ours, linux, seconds=5):
        self.name, self.seconds = name, seconds
        self.own_words, self.own_lines = ours
        self.guest_words, self.guest_lines = linux

    def differences(self, own, guest):
        """From what both printed: reasons for a failure, and remarks."""
        reasons = []
        for side, wanted, lines in (("uroce", self.own_lines, own), ("Linux", self.guest_lines, guest)):
            printed = [line[len(MARK):] for line in lines if line.startswith(MARK)]
            if printed != wanted:
                reasons.append(f"{side} printed {printed}, wanted {wanted}")
            reasons += [line for line in lines if line.startswith(COMPLAINTS)]
        remarks = [line[len(REMARK):] for line in [*own, *guest] if line.startswith(REMARK)]
        return reasons, [", ".join(line for line in remarks if not line.endswith(" 0"))] if remarks else []


class Batch:
    """Scripts that run in one process at each end; what the guest runs before and after; when it stands still
    meanwhile: once in so many seconds, for so many."""

    def __init__(self, scripts, prepare=(), repair=(), stops=None):
        self.scripts, self.prepare, self.repair, self.stops = list(scripts), prepare, repair, stops


def split(text):
    """The lines that were printed under each heading."""
    under, lines = {}, []
    for line in text.splitlines():
        heading = re.fullmatch(rf"{HEADING}(\d+)", line)
        if heading:
            lines = under[int(heading.group(1))] = []
        else:
            lines.append(line)
    return under
