/** Figures of an export in a few characters, for tables and messages. */

const units = ['', 'k', 'M', 'G', 'T', 'P'];

/** With two digits at least, as in `999`, `1.2M`, `34k`; rounded down, so that nothing is promised. */
export function amountText(amount: number): string {
  let rest = amount;
  let unit = 0;
  while (rest >= 1_000 && unit < units.length - 1) {
    rest /= 1_000;
    unit++;
  }
  if (unit === 0) return String(Math.floor(rest));
  const text = rest < 10 ? String(Math.floor(rest * 10) / 10) : String(Math.floor(rest));
  return `${text}${units[unit]}`;
}

/** All digits, in groups: `1,234,567`. */
export function countText(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** 0.29 times 100 is a little less than 29. */
const roundingError = 1e-9;

/** A part of a whole, 0 to 1, as whole percent: 100 only when all of it is done. */
export function percentOf(part: number): number {
  return part >= 1 ? 100 : Math.min(99, Math.floor(part * 100 + roundingError));
}

export function percentText(part: number): string {
  return `${percentOf(part)}%`;
}
