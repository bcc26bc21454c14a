/** Where exports may write, as the flags `--volume` and `--allow-ambient-credentials` say. */
import path from 'node:path';
import { InvalidArgumentError } from 'commander';
import type { ExportPlaces } from '../export/export-settings.ts';
import type { CommandContext } from './context.ts';

/** By their names, as they were written. */
export type Volumes = ReadonlyMap<string, string>;

export interface ExportPlaceOptions {
  readonly volume?: Volumes;
  readonly allowAmbientCredentials?: boolean;
}

/** As `destination.volume.name` has to be. */
const volumeForm = /^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)=(.+)$/;

/** `NAME=DIR`, of a flag that takes several. */
export function volumeFlag(text: string, former: Volumes | undefined): Volumes {
  const [, name, directory] = volumeForm.exec(text) ?? [];
  if (name === undefined || directory === undefined) {
    throw new InvalidArgumentError(
      'Write NAME=DIR, as in exports=/var/exports; the name has lower-case letters, digits and minuses.',
    );
  }
  if (former?.has(name))
    throw new InvalidArgumentError(`There is a volume ${name} already; give each a name of its own.`);
  return new Map([...(former ?? []), [name, directory]]);
}

export function exportPlaces(
  { volume = new Map(), allowAmbientCredentials = false }: ExportPlaceOptions,
  { cwd, env }: Pick<CommandContext, 'cwd' | 'env'>,
): ExportPlaces {
  const volumes = new Map([...volume].map(([name, directory]) => [name, path.resolve(cwd, directory)]));
  return { volumes, allowAmbientCredentials, environment: env };
}
