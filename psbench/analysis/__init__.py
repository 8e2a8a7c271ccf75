"""Reading a run: frames, the derived measures, tables and plots. Needs neither ray nor torch.

The plots are methods of `Results`; matplotlib is imported when the first is drawn.
"""

from psbench.analysis.notes import notes
from psbench.analysis.results import Results, load
from psbench.analysis.tables import print_summary, summary_records, summary_table

__all__ = ["Results", "load", "notes", "print_summary", "summary_records", "summary_table"]
