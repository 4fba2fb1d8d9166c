/* Codes of the graph engine. This library has no graphs, so there are none; the file is here because
 * programs include it. */
#ifndef ACL_ERROR_CODES_GE_ERROR_CODES_H_
#define ACL_ERROR_CODES_GE_ERROR_CODES_H_

#endif
