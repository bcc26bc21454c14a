/** Checks of the credentials of one export that need no request. They run before a folder is created or a job is opened. */
import { decodeCredentials } from '../../account/credentials.ts';
import type { SearchExport } from '../../api/kinds.ts';
import { LogfleetError } from '../../base/errors.ts';
import type { DecodedFile } from '../../host/directory/manifest-decoding.ts';
import type { SecretReader } from '../../host/host.ts';
import { nameOf } from '../manifests/given-manifests.ts';

/** Problem of the credentials that the export names. Undefined if they can be tried. */
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
 * Sentence about the Secrets of `--secret` that the export does not use. Undefined if there are none, or if the export finds its own
 * Secret: unused Secrets then do no harm. `byFlags`: the export has no manifest that names a Secret.
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
  if (byFlags) return `the Secrets of --secret are not used, since they have no baseURL: ${unused.join(', ')}`;
  return `the Secrets of --secret are not used, since the export names ${wanted}: ${unused.join(', ')}. Give that Secret, or change the name in the manifest.`;
}
