/** Finds a time zone by its three-letter code, its IANA name, or its offset, such as `+05:30`. */
import { type TimeZone, timeZone } from '../../src/base/time-zone.ts';

/** IANA time zone for each short code. Codes for summer and winter time, such as PDT and PST, denote the same zone. */
const placesByCode: Readonly<Record<string, string>> = {
  Z: 'UTC',
  HST: 'Pacific/Honolulu',
  AKST: 'America/Anchorage',
  AKDT: 'America/Anchorage',
  PST: 'America/Los_Angeles',
  PDT: 'America/Los_Angeles',
  MST: 'America/Denver',
  MDT: 'America/Denver',
  // CST means Central Standard Time in North America, not China Standard Time or Cuba Standard Time.
  CST: 'America/Chicago',
  CDT: 'America/Chicago',
  EST: 'America/New_York',
  EDT: 'America/New_York',
  // AST means Atlantic Standard Time (Canada), not Arabia Standard Time.
  AST: 'America/Halifax',
  ADT: 'America/Halifax',
  NST: 'America/St_Johns',
  NDT: 'America/St_Johns',
  BRT: 'America/Sao_Paulo',
  ART: 'America/Argentina/Buenos_Aires',
  WET: 'Europe/Lisbon',
  WEST: 'Europe/Lisbon',
  // BST means British Summer Time, not Bangladesh Standard Time.
  BST: 'Europe/London',
  CET: 'Europe/Berlin',
  CEST: 'Europe/Berlin',
  EET: 'Europe/Athens',
  EEST: 'Europe/Athens',
  MSK: 'Europe/Moscow',
  SAST: 'Africa/Johannesburg',
  EAT: 'Africa/Nairobi',
  WAT: 'Africa/Lagos',
  CAT: 'Africa/Maputo',
  PKT: 'Asia/Karachi',
  // IST means India Standard Time, not Israel Standard Time or Irish Standard Time.
  IST: 'Asia/Kolkata',
  ICT: 'Asia/Bangkok',
  WIB: 'Asia/Jakarta',
  HKT: 'Asia/Hong_Kong',
  PHT: 'Asia/Manila',
  SGT: 'Asia/Singapore',
  JST: 'Asia/Tokyo',
  KST: 'Asia/Seoul',
  AWST: 'Australia/Perth',
  ACST: 'Australia/Adelaide',
  ACDT: 'Australia/Adelaide',
  AEST: 'Australia/Sydney',
  AEDT: 'Australia/Sydney',
  NZST: 'Pacific/Auckland',
  NZDT: 'Pacific/Auckland',
};

/**
 * UTC offsets such as `UTC+2`. Here, a positive offset is ahead of UTC, whereas in IANA names, such as `Etc/GMT+2`, it
 * is behind UTC.
 */
const offsetForm = /^(?:UTC|GMT)([+-])(\d{1,2})(?::?(\d\d))?$/i;

/** Returns the time zone for a name or code, or undefined if the name or code is unknown. */
export function timeZoneOf(name: string): TimeZone | undefined {
  return timeZone(placesByCode[name.toUpperCase()] ?? offsetOf(name) ?? name);
}

/** Returns a UTC offset in IANA notation, such as `+02:00`. */
function offsetOf(name: string): string | undefined {
  const [, sign, hours = '', minutes = '00'] = offsetForm.exec(name) ?? [];
  return sign === undefined ? undefined : `${sign}${hours.padStart(2, '0')}:${minutes}`;
}
