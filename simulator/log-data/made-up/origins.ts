/** Origins of generated messages: collectors, hosts and categories. */
import { drawFor } from '../../base/chance.ts';

export interface Origin {
  readonly sourceId: string;
  readonly sourceName: string;
  readonly source: string;
  readonly host: string;
  /** Source category, for example `prod/checkout/app`. */
  readonly category: string;
  readonly collectorId: string;
  readonly collector: string;
  readonly service: string;
  readonly kind: OriginKind;
}

const originKinds = ['access', 'app', 'json', 'system'] as const;
export type OriginKind = (typeof originKinds)[number];

const environments = ['prod', 'prod', 'prod', 'staging', 'dev'] as const;
const services = ['checkout', 'cart', 'search', 'auth', 'billing', 'shipping', 'catalog', 'gateway'] as const;
const regions = ['eu-central-1', 'us-east-1', 'ap-southeast-2'] as const;
const firstSourceId = 150_000_001;
const firstCollectorId = 100_000_001;

/** Returns `count` message origins. Origins in the same environment and region have the same collector. */
export function originsOf(seed: number, count: number): readonly Origin[] {
  return Array.from({ length: count }, (_, index) => origin(seed, index));
}

function origin(seed: number, index: number): Origin {
  const draw = <T>(what: string, of: readonly T[]) => of[Math.floor(drawFor(seed, what, index) * of.length)] as T;
  const service = services[index % services.length] as string;
  const kind = originKinds[Math.floor(index / services.length) % originKinds.length] as OriginKind;
  const environment = draw('environment', environments);
  const region = draw('region', regions);
  const cluster = environments.indexOf(environment) * regions.length + regions.indexOf(region);
  return {
    sourceId: String(firstSourceId + index),
    sourceName: `${service}-${kind}`,
    source: `/var/log/${service}/${kind}.log`,
    host: `${service}-${Math.floor(drawFor(seed, 'host', index) * 0xffff).toString(16)}.${region}.internal`,
    category: `${environment}/${service}/${kind}`,
    collectorId: String(firstCollectorId + cluster),
    collector: `k8s-${environment}-${region}`,
    service,
    kind,
  };
}
