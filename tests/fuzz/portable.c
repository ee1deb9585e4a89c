/* Whatever these files give away has another name here. Tags of structures change with it, which nobody sees. */
#undef __SSE2__
#define json_init portable_json_init
#define json_peek portable_json_peek
#define json_enter portable_json_enter
#define json_next portable_json_next
#define json_value portable_json_value
#define json_string_end portable_json_string_end
#define json_end portable_json_end
#define json_valid portable_json_valid
#define json_get portable_json_get
#define json_get_all portable_json_get_all
#define json_raw portable_json_raw
#define json_double portable_json_double
#define json_truthy portable_json_truthy
#define json_decode portable_json_decode
#define json_decoded_size portable_json_decoded_size
#define json_is portable_json_is
#define json_quote portable_json_quote
#define record_head portable_record_head
#define record_head_padded portable_record_head_padded

#include "../../src/json.c"
#include "../../src/json_text.c"
#define parse_message parse_head_message
#include "../../src/record_head.c"
