/** Large numbers and sizes as text. */

const grouped = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const byteUnits = ['KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** `1,234,567` */
export function renderNumber(value: number): string {
  return grouped.format(value);
}

/** `1,234,567 rows`, `1 row` */
export function renderCount(count: number, noun: string): string {
  return `${renderNumber(count)} ${noun}${count === 1 ? '' : 's'}`;
}

/** `512 B`, `1.4 MiB`, `240 GiB`, with up to three digits. */
export function renderBytes(bytes: number): string {
  if (bytes < 1_024) return `${Math.round(bytes)} B`;
  let size = bytes / 1_024;
  let unit = 0;
  // A size that would be shown as 1024 of a unit is 1 of the next unit.
  while (Math.round(size) >= 1_024 && unit < byteUnits.length - 1) {
    size /= 1_024;
    unit++;
  }
  return `${size < 100 ? size.toFixed(1) : renderNumber(size)} ${byteUnits[unit]}`;
}
