/** Flags with which another command finds the same resources, ready to be pasted. */
import type { TargetOptions } from '../options.ts';

/** Each flag after a blank. Empty if no flag is needed. */
export function targetFlags({ dir, kubeconfig, context, namespace }: TargetOptions): string {
  const flags = { '--dir': dir, '--kubeconfig': kubeconfig, '--context': context, '-n': namespace };
  return Object.entries(flags)
    .map(([flag, value]) => (value === undefined ? '' : ` ${flag} ${shellWord(value)}`))
    .join('');
}

/** A word for a shell, in quotes if it needs them. */
export function shellWord(text: string): string {
  return /^[\w./:@~+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
