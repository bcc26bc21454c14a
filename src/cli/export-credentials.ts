/** What keeps an export as a process from reaching its service and can be seen without asking anybody: before anything is made or begun. */
import { decodeCredentials } from '../account/credentials.ts';
import type { SearchExport } from '../api/kinds.ts';
import { LogfleetError } from '../base/errors.ts';
import type { DecodedFile } from '../host/directory/manifest-decoding.ts';
import type { SecretReader } from '../host/host.ts';
import { nameOf } from './given-manifests.ts';

/** Undefined where the credentials can be tried. */
export async function credentialsProblem(
  { metadata: { namespace }, spec }: SearchExport,
  secrets: SecretReader,
): Promise<LogfleetError | undefined> {
  const key = { namespace, name: spec.credentialsSecretRef.name };
  const members = await secrets.get(key);
  try {
    decodeCredentials({ kind: secrets.takesVariables?.(key) ? 'variables' : 'secret', key }, members);
    return undefined;
  } catch (error) {
    if (error instanceof LogfleetError && error.handling.kind === 'stall') return error;
    throw error;
  }
}

/**
 * Of Secrets that somebody gave and the export has no use for, while the one that it names is not among them: mostly another one was meant.
 * A sentence; undefined where there are none. `byFlags`: the export has no manifest that could name one.
 */
export function unusedSecrets(
  { metadata: { namespace }, spec }: SearchExport,
  decoded: readonly DecodedFile[],
  given: readonly DecodedFile[],
  byFlags: boolean,
): string | undefined {
  const { credentialsSecretRef, destination } = spec;
  const wanted = nameOf({ namespace, name: credentialsSecretRef.name });
  const namesIn = (files: readonly DecodedFile[]) =>
    files.flatMap(({ secrets }) => secrets.map(({ key }) => nameOf(key)));
  if (namesIn([...decoded, ...given]).includes(wanted)) return undefined;
  const ofStore = destination.s3?.credentialsSecretRef;
  const unused = namesIn(given).filter((name) => !ofStore || name !== nameOf({ namespace, name: ofStore.name }));
  if (unused.length === 0) return undefined;
  if (byFlags) return `--secret gives ${unused.join(', ')} without a baseURL, which leads to no service.`;
  return `--secret gives ${unused.join(', ')}, and the export names ${wanted}: give that one, or name another there.`;
}
