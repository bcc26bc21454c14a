/** Creates the S3 client with time limits and proxy settings. */
import { isIP } from 'node:net';
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3';
import { bareHost, type Environment } from '../../base/proxy-environment.ts';
import { agentProxy, maxConnections } from '../store/store-endpoint.ts';
import type { S3Settings } from './s3-settings.ts';

const defaultRegion = 'us-east-1';
/** Maximum number of attempts per request. With this limit, an unavailable store is reported within four minutes. */
const maxAttempts = 3;
const connectTimeoutMs = 5_000;
/** Maximum time in ms without new data while a request waits for its response. */
const responseTimeoutMs = 60_000;

const silent = () => {};

export function createClient(settings: S3Settings, environment: Environment): S3Client {
  const { region = defaultRegion, endpoint, forcePathStyle, credentials } = settings;
  const agent = { keepAlive: true, maxSockets: maxConnections };
  const config: S3ClientConfig = {
    region,
    maxAttempts,
    retryMode: 'standard',
    ...(endpoint !== undefined && { endpoint }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(credentials !== 'ambient' && {
      credentials: {
        accessKeyId: credentials.accessKeyId,
        secretAccessKey: credentials.secretAccessKey.reveal(),
        ...(credentials.sessionToken && { sessionToken: credentials.sessionToken.reveal() }),
      },
    }),
    requestHandler: {
      connectionTimeout: connectTimeoutMs,
      requestTimeout: responseTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: responseTimeoutMs,
      httpAgent: agent,
      httpsAgent: { ...agent, proxyEnv: agentProxy(originOf(settings), environment) },
    },
    logger: { trace: silent, debug: silent, info: silent, warn: silent, error: silent },
  };
  return new S3Client(config);
}

/** Returns the scheme and host for requests to the store. */
function originOf({ bucket, region = defaultRegion, endpoint, forcePathStyle }: S3Settings): URL {
  const origin = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
  const isNamed = forcePathStyle !== true && !bucket.includes('.') && isIP(bareHost(origin)) === 0;
  if (isNamed) origin.hostname = `${bucket}.${origin.hostname}`;
  return origin;
}
