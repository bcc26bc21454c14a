/** Texts of flags turned into values. What cannot be read is refused with what to write instead. */
import { InvalidArgumentError, type Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { volumeFlag } from './export-places.ts';
import type { ListenAddress } from './options.ts';

const addressForm = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]*)):(\d{1,5})$/;

/** `HOST:PORT`, `[IPv6]:PORT` or `:PORT`. */
export function listenAddress(text: string): ListenAddress {
  const match = addressForm.exec(text);
  const port = Number(match?.[3]);
  if (!match || port > 65_535) {
    throw new InvalidArgumentError(
      'Write HOST:PORT, as in 127.0.0.1:8080, or :8080 for every address of this machine.',
    );
  }
  return { host: match[1] ?? (match[2] || '0.0.0.0'), port };
}

/** `a,b`; blanks around the names do no harm. */
export function nameList(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.some((name) => name === ''))
    throw new InvalidArgumentError('Write names with commas between them, as in team-a,team-b.');
  return names;
}

/** Of a flag that takes several, one after the other. */
export function fileList(text: string, former: readonly string[] | undefined): readonly string[] {
  return [...(former ?? []), text];
}

/** A Go duration in ms. */
export function duration(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('Write a duration, as in 90s or 1h30m.');
  return durationMs;
}

/** How large it may be is for whoever takes it to say. */
export function wholeNumber(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('Write a whole number, as in 120.');
  if (!Number.isSafeInteger(value)) throw new InvalidArgumentError(`Write ${Number.MAX_SAFE_INTEGER} at most.`);
  return value;
}

export function positiveNumber(text: string): number {
  const value = Number(text);
  if (!/^[\d.]+$/.test(text) || !(value > 0)) throw new InvalidArgumentError('Write a number above 0, as in 1 or 0.5.');
  return value;
}

/** The environment variable that stands for a flag: `LOGFLEET_HEALTH_LISTEN` for `--health-listen`. */
export function variableOf(option: Option): string {
  return `LOGFLEET_${option
    .attributeName()
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase()}`;
}

/** Readings of flags that may be given often. */
const ofSeveral: readonly unknown[] = [fileList, volumeFlag];

/**
 * What a variable says for a flag: for a switch, `true` or `false` in one of their usual spellings; for one that may be given often, all
 * of them with commas between; else the flag's own reading of the text.
 */
export function valueFromVariable(option: Option, text: string): unknown {
  const { parseArg } = option;
  if (option.isBoolean()) return switchValue(text);
  if (!parseArg) return text;
  if (!ofSeveral.includes(parseArg)) return parseArg(text, undefined);
  return nameList(text).reduce<unknown>((former, each) => parseArg(each, former), undefined);
}

function switchValue(text: string): boolean {
  if (/^(?:1|true|yes|on)$/i.test(text)) return true;
  if (/^(?:0|false|no|off)$/i.test(text)) return false;
  throw new InvalidArgumentError('Write true or false.');
}
