/** The flags that lead another command to the same resources, as a person can paste them. */
import type { TargetOptions } from './options.ts';

/** Each with a blank in front; empty where none is needed. */
export function targetFlags({ dir, kubeconfig, context, namespace }: TargetOptions): string {
  const flags = { '--dir': dir, '--kubeconfig': kubeconfig, '--context': context, '-n': namespace };
  return Object.entries(flags)
    .map(([flag, value]) => (value === undefined ? '' : ` ${flag} ${shellWord(value)}`))
    .join('');
}

/** As it stands where a shell leaves it alone, else in quotes. */
export function shellWord(text: string): string {
  return /^[\w./:@~+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
