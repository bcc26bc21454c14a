/** Flags that are shared by several commands, and parsers for their values. */

import path from 'node:path';
import { Argument, InvalidArgumentError, Option } from 'commander';
import { type KindName, kinds } from '../../api/kinds.ts';
import { parseDuration } from '../../base/duration.ts';
import { fileList } from '../../base/flag-values.ts';
import { isoText } from '../../base/time-text.ts';
import type { ExportPlaces } from '../../export/resource/export-settings.ts';
import type { CommandContext } from './context.ts';
import { invocation } from './invocation.ts';
import type { ExportPlaceOptions, LogOptions, Volumes } from './options.ts';

export function nameList(text: string): readonly string[] {
  const names = text.split(',').map((name) => name.trim());
  if (names.some((name) => name === ''))
    throw new InvalidArgumentError('Write a comma-separated list of names, such as team-a,team-b.');
  return names;
}

export function duration(text: string): number {
  const durationMs = parseDuration(text);
  if (durationMs === undefined) throw new InvalidArgumentError('Write a duration such as 90s or 1h30m.');
  return durationMs;
}

export function port(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > 65_535) throw new InvalidArgumentError('Write a port such as 8080.');
  return number;
}

const dateForm = /^\d{4}-\d\d-\d\d$/;

/**
 * Converts a time on the command line to the form used in manifests. Accepts `now`, a duration before now such as
 * `-24h`, and a date, which stands for 00:00 on that day. Returns all other strings unchanged.
 */
export function momentText(text: string, nowMs: number): string {
  if (text === 'now') return isoText(nowMs);
  if (dateForm.test(text)) return `${text}T00:00:00`;
  const beforeMs = text.startsWith('-') ? parseDuration(text.slice(1)) : undefined;
  return beforeMs === undefined ? text : isoText(nowMs - beforeMs);
}

/** Returns the environment variable that sets a flag, such as `LOGFLEET_HEALTH_LISTEN` for `--health-listen`. */
export function variableOf(option: Option): string {
  return `LOGFLEET_${option.name().replace(/^no-/, '').replaceAll('-', '_').toUpperCase()}`;
}

const ofSeveral: readonly unknown[] = [fileList, volumeFlag];

/**
 * Parses the value of a flag's environment variable. For a repeatable flag, the variable can contain several values,
 * separated by commas.
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

/** A volume given on the command line as `NAME=DIR`. */
const volumeForm = /^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)=(.+)$/;

/** Parses a volume in the form `NAME=DIR`, and adds it to the volumes of earlier `--volume` flags. */
export function volumeFlag(text: string, former: Volumes | undefined): Volumes {
  const [, name, directory] = volumeForm.exec(text) ?? [];
  if (name === undefined || directory === undefined) {
    throw new InvalidArgumentError(
      'Write a volume as NAME=DIR, such as exports=/var/exports. The name consists of lower-case letters, digits and hyphens.',
    );
  }
  if (former?.has(name))
    throw new InvalidArgumentError(`The volume ${name} is defined twice. Give each volume a different name.`);
  return new Map([...(former ?? []), [name, directory]]);
}

export function exportPlaces(
  { volume = new Map(), allowAmbientCredentials = false }: ExportPlaceOptions,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): ExportPlaces {
  const volumes = new Map([...volume].map(([name, directory]) => [name, path.resolve(cwd, directory)]));
  return { volumes, allowAmbientCredentials, environment: env };
}

/** Defines a flag. Without `parse`, the flag's value is a string, or `true` if the flag takes no value. */
export function flag<T>(flags: string, help: string, parse?: (text: string, former: T) => T): Option {
  const option = new Option(flags, help);
  return parse ? option.argParser(parse) : option;
}

export const clusterFlags: readonly Option[] = [
  flag(
    '--kubeconfig <file>',
    'Path of the kubeconfig (default: the one that kubectl uses; in a pod, the service account of the pod).',
  ),
  flag('--context <name>', 'Context in the kubeconfig (default: the current context).'),
];

/** Flags that select a cluster or a directory. */
export const targetFlags: readonly Option[] = [
  ...clusterFlags,
  flag('-n, --namespace <namespace>', 'Namespace (default: the namespace of the context).'),
  flag('--dir <dir>', 'Directory of manifests instead of a cluster.').conflicts(['kubeconfig', 'context']),
];

export const allNamespacesFlag = flag('-A, --all-namespaces', 'Show all namespaces.');

export const timeoutFlag = flag(
  '--timeout <duration>',
  'Maximum time to wait for the service (default: 10m).',
  duration,
);

export function logFlags(level: LogOptions['logLevel']): readonly Option[] {
  return [
    oneOf('--log-format <format>', 'Format of the log (default: text, or json in a cluster).', ['json', 'text']),
    oneOf('--log-level <level>', 'Minimum level of the log.', ['debug', 'info', 'warn', 'error'], level),
  ];
}

/** Renders the examples of a help text. `lines` are command lines without the program's name. */
export function renderCommandExamples(lines: readonly string[]): string {
  const title = lines.length > 1 ? 'Examples' : 'Example';
  const commands = lines.map((words) => `  $ ${invocation(words)}\n`).join('');
  return `\n${title}:\n${commands}`;
}

/** Defines a flag that accepts only the values in `choices`. `fallback` is the default. */
export function oneOf(flags: string, help: string, choices: readonly string[], fallback?: string): Option {
  const option = new Option(flags, help).choices(choices);
  return fallback === undefined ? option : option.default(fallback);
}

/**
 * Defines an argument such as `cvp/production`, for a command that accepts the kinds `ofKinds`. The choices of the
 * argument let shells complete the part `cvp/`. The parser accepts any text, because the command itself checks the kind
 * and the name.
 */
export function resourceArgument(ofKinds: readonly KindName[], name = '<KIND/NAME>'): Argument {
  return new Argument(name).choices(ofKinds.map((kind) => `${kinds[kind].shortName}/`)).argParser((text) => text);
}
