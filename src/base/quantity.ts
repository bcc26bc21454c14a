/** Byte quantities in Kubernetes notation (`256Mi`, `1.5G`, `1000000`), with at most three decimal places. */

const k = 1_000;
const ki = 1_024;
const unitBytes: Readonly<Record<string, number>> = {
  ...{ k, M: k ** 2, G: k ** 3, T: k ** 4, P: k ** 5 },
  ...{ Ki: ki, Mi: ki ** 2, Gi: ki ** 3, Ti: ki ** 4, Pi: ki ** 5 },
};
const quantityForm = /^(?:(\d{1,15})|(\d{1,6}(?:\.\d{1,3})?)(k|M|G|T|P|Ki|Mi|Gi|Ti|Pi))$/;

/** Parses a quantity into bytes, or returns undefined. */
export function parseQuantity(text: string): number | undefined {
  const [, bytes, amount = '', unit = ''] = quantityForm.exec(text) ?? [];
  if (bytes !== undefined) return Number(bytes);
  const factor = unitBytes[unit];
  return factor === undefined ? undefined : Math.round(Number(amount) * factor);
}
