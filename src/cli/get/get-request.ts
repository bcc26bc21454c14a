/** The resources and options that the arguments of `logfleet get` select. */
import { type KindName, kinds } from '../../api/kinds.ts';
import type { GetOptions } from '../options.ts';
import { kindNamed } from '../resources/resource-access.ts';
import { UsageError } from '../usage-error.ts';

/**
 * Resource kinds and the resource name that the arguments of `logfleet get`
 * select.
 */
export interface GetRequest {
  readonly kinds: readonly KindName[];
  readonly name: string | undefined;
  readonly options: GetOptions;
}

/** Parses the arguments: `get cvp NAME` and `get cvp/NAME` mean the same. */
export function readRequest(
  kindText: string | undefined,
  nameText: string | undefined,
  options: GetOptions,
): GetRequest {
  if (kindText === undefined) return { kinds: Object.keys(kinds) as KindName[], name: undefined, options };
  const [kindPart = '', ...nameParts] = kindText.split('/');
  const name = nameText ?? (nameParts.join('/') || undefined);
  if (name !== undefined && (nameParts.length > 1 || (nameText !== undefined && nameParts.length > 0))) {
    throw new UsageError(
      `'${kindText}${nameText === undefined ? '' : ` ${nameText}`}' names more than one resource; write one, such as cvp production`,
    );
  }
  if (name !== undefined && options.allNamespaces) {
    throw new UsageError(`${name} is one resource, but -A means all namespaces: write -n NAMESPACE instead`);
  }
  return { kinds: [kindNamed(kindPart)], name, options };
}
