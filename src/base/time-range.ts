/** Time range in ms since the epoch: `[fromMs, toMs)`. */
export interface TimeRange {
  readonly fromMs: number;
  /** End of the time range in ms, exclusive. */
  readonly toMs: number;
}
