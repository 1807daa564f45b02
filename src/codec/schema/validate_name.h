/* validate_name.h - the shapes of names in the API: each test says yes or no, each shape has its sentence
 *
 * SOURCE RFC 1123, RFC 1035, RFC 6335; API conventions of Kubernetes (labels, qualified names, environment names, path segments).
 */
#ifndef CODEC_VALIDATE_NAME_H
#define CODEC_VALIDATE_NAME_H
#include "base/bytes.h"

bool name_is_dns_label(struct bytes text);      /* a-z 0-9 '-', 63 */
bool name_is_dns1035_label(struct bytes text);  /* the same, begins with a letter */
bool name_is_dns_subdomain(struct bytes text);  /* labels joined by '.', 253 together */
bool name_is_qualified(struct bytes text);      /* [subdomain/]Name: keys of labels, annotations, resources */
bool name_is_label_value(struct bytes text);    /* empty or Name, 63 */
bool name_is_env(struct bytes text);            /* printable ASCII without '=' */
bool name_is_port(struct bytes text);           /* IANA service name, 15 */
bool name_is_path_segment(struct bytes text);   /* RBAC: not "." or "..", no '/' or '%' */
bool name_is_sysctl(struct bytes text);         /* kernel.shm_rmid_forced, net/ipv4/ip_forward; 253 */
bool name_is_address(struct bytes text);        /* IPv4 or IPv6 as inet_ntop prints it */
bool name_is_config_key(struct bytes text);     /* ConfigMap, Secret: [-._a-zA-Z0-9]+, 253 */
bool name_is_kind(struct bytes text);           /* a DNS label, but for capitals */
bool name_is_reason(struct bytes text);         /* of a condition: a letter, then letters, digits, '_', ',' and ':', not these two last */

/* What to write instead. */
#define NAME_DNS_LABEL_RULE "a lowercase RFC 1123 label must consist of lower case letters, digits or '-', and must start and end with a letter or digit (such as 'my-name'; at most 63 characters)"
/* The same of a kind that is custom to an API server, in the words of a pattern and in ours. */
#define NAME_DNS_LABEL_PATTERN_RULE "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$': " NAME_DNS_LABEL_RULE
#define NAME_DNS1035_RULE "a DNS-1035 label must consist of lower case letters, digits or '-', start with a letter, and end with a letter or digit (such as 'my-name'; at most 63 characters)"
#define NAME_DNS_SUBDOMAIN_RULE "a lowercase RFC 1123 subdomain must consist of lower case letters, digits, '-' or '.', and must start and end with a letter or digit (such as 'example.com'; at most 253 characters)"
/* The same of a kind that is custom to an API server, in the words of a pattern and in ours. */
#define NAME_DNS_SUBDOMAIN_PATTERN_RULE \
    "should match '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$': " NAME_DNS_SUBDOMAIN_RULE
#define NAME_QUALIFIED_RULE "name part must consist of letters, digits, '-', '_' or '.', and must start and end with a letter or digit (such as 'MyName' or 'example.com/my.name'; at most 63 characters after an optional DNS prefix)"
#define NAME_LABEL_VALUE_RULE "a valid label must be empty or consist of letters, digits, '-', '_' or '.', and must start and end with a letter or digit (at most 63 characters)"
#define NAME_ENV_RULE "a valid environment variable name must consist of printable ASCII characters other than '='"
#define NAME_PORT_RULE "a port name must consist of at most 15 lower case letters, digits or '-', with at least one letter, and neither start nor end with '-' nor contain '--'"
#define NAME_SYSCTL_RULE "must have at most 253 characters: words of lower case letters, digits, '-' or '_', each beginning and ending with a letter or digit, joined by '.' or '/' (such as kernel.shm_rmid_forced)"
#define NAME_CONFIG_KEY_RULE "a valid config key must consist of letters, digits, '-', '_' or '.' (such as 'key.name'; at most 253 characters)"
#define NAME_KIND_RULE "a kind must consist of letters, digits or '-', start with a letter, and end with a letter or digit (such as 'ProvisioningRequestConfig'; at most 63 characters)"
#define NAME_REASON_RULE "a reason must consist of letters, digits, '_', ',' or ':', start with a letter, and end with a letter, digit or '_' (such as 'QuotaReserved')"

#endif
