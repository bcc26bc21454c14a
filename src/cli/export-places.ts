/** Places where exports may write, from the flags `--volume` and `--allow-ambient-credentials`. */
import path from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { ExportPlaces } from '../export/export-settings.ts';
import type { CommandContext } from './context.ts';

/** Directories by the name of their volume, as written on the command line. */
export type Volumes = ReadonlyMap<string, string>;

export interface ExportPlaceOptions {
  readonly volume?: Volumes;
  readonly allowAmbientCredentials?: boolean;
}

/** `NAME=DIR`. The name follows the rules of `destination.volume.name`. */
const volumeForm = /^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)=(.+)$/;

/** Parses one `NAME=DIR` and adds it to the volumes of former flags. */
export function volumeFlag(text: string, former: Volumes | undefined): Volumes {
  const [, name, directory] = volumeForm.exec(text) ?? [];
  if (name === undefined || directory === undefined) {
    throw new InvalidArgumentError(
      'Write NAME=DIR, such as exports=/var/exports. The name has lower-case letters, digits and hyphens.',
    );
  }
  if (former?.has(name)) throw new InvalidArgumentError(`The volume ${name} is defined twice. Write another name.`);
  return new Map([...(former ?? []), [name, directory]]);
}

export function exportPlaces(
  { volume = new Map(), allowAmbientCredentials = false }: ExportPlaceOptions,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): ExportPlaces {
  const volumes = new Map([...volume].map(([name, directory]) => [name, path.resolve(cwd, directory)]));
  return { volumes, allowAmbientCredentials, environment: env };
}
