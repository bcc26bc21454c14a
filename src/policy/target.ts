/** Which version a policy asks for, given the builds that the service offers now (4.7). */
import type { Target } from '../api/generated/collector-version-policy.ts';
import type { Build } from '../service/upgrade-service.ts';

export type TargetVerdict =
  | { readonly kind: 'offered'; readonly version: string }
  | { readonly kind: 'notOffered'; readonly wanted: string; readonly message: string };

/** How many builds a message names. */
const namedBuilds = 10;

export function resolveTarget(target: Target, builds: readonly Build[]): TargetVerdict {
  if (target.version !== undefined) {
    const { version } = target;
    if (builds.some((build) => build.version === version)) return { kind: 'offered', version };
    const message = `The service does not offer build ${version}. ${offered(builds)} Set spec.target.version to one of them.`;
    return { kind: 'notOffered', wanted: version, message };
  }
  const latest = builds.find((build) => build.latest);
  if (latest) return { kind: 'offered', version: latest.version };
  const message = `The service marks no build as the latest. ${offered(builds)} Set spec.target.version instead of channel.`;
  return { kind: 'notOffered', wanted: 'Latest', message };
}

function offered(builds: readonly Build[]): string {
  if (builds.length === 0) return 'It offers no builds at all.';
  const names = builds
    .slice(0, namedBuilds)
    .map((build) => (build.latest ? `${build.version} (latest)` : build.version));
  const more = builds.length > namedBuilds ? ` and ${builds.length - namedBuilds} more` : '';
  return `It offers ${names.join(', ')}${more}.`;
}
