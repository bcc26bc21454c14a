/** Parsers for the values of flags and of their environment variables. Errors say what to write. */
import { InvalidArgumentError, type Option } from 'commander';
import { parseDuration } from '../base/duration.ts';
import { fileList } from '../base/flag-values.ts';
import { volumeFlag } from './export-places.ts';

/** Names separated by commas. Blanks around a name are removed. */
export function nameList(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.some((name) => name === ''))
    throw new InvalidArgumentError('Write names separated by commas, such as team-a,team-b.');
  return names;
}

/** Go duration, in ms. */
export function duration(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('Write a duration such as 90s or 1h30m.');
  return durationMs;
}

/** Environment variable that replaces a flag: `LOGFLEET_HEALTH_LISTEN` for `--health-listen`. */
export function variableOf(option: Option): string {
  return `LOGFLEET_${option
    .attributeName()
    .replace(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase()}`;
}

/** Parsers of repeatable flags. */
const ofSeveral: readonly unknown[] = [fileList, volumeFlag];

/**
 * Value of a flag from its environment variable. A switch takes the usual spellings of `true` and `false`. A repeatable flag takes several
 * values separated by commas. Other flags parse the text as on the command line.
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
