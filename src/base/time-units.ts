/** Units of time in ms. A day has 24 hours. */

export const secondMs = 1_000;
export const minuteMs = 60 * secondMs;
export const hourMs = 60 * minuteMs;
export const dayMs = 24 * hourMs;

/** Latest time that a `Date` can represent, in ms since the epoch. The earliest time is its negative. */
export const latestDateMs = 8_640_000_000_000_000;
