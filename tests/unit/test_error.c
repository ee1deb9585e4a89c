/* SPDX-License-Identifier: MIT */
/* Each errno has one meaning, and one that is not named here means that the file could not be read. */
#include "cases.h"
#include "sessionfs/base/error.h"

static enum error_meaning expected(int err)
{
	static const int absent[] = {ENOENT, ENOTDIR, EISDIR, ELOOP, ESTALE, EDOM};
	static const int refused[] = {EACCES, EPERM, ENAMETOOLONG};
	static const int ours[] = {EINTR, EAGAIN, EMFILE, ENFILE, ENOMEM};
	for (size_t i = 0; i < COUNT(absent); i++)
		if (err == absent[i])
			return MEANS_ABSENT;
	for (size_t i = 0; i < COUNT(refused); i++)
		if (err == refused[i])
			return MEANS_REFUSED;
	for (size_t i = 0; i < COUNT(ours); i++)
		if (err == ours[i])
			return MEANS_OURS;
	return err ? MEANS_UNREADABLE : MEANS_SUCCESS;
}

CASE(each_errno_has_one_meaning)
{
	for (int err = 0; err < 200; err++) {
		enum error_meaning means = expected(err);
		assert_int_equal(error_meaning(-err), means);
		assert_int_equal(error_is_absence(-err), means == MEANS_ABSENT);
		assert_int_equal(error_is_transient(-err), means == MEANS_OURS || means == MEANS_UNREADABLE);
		assert_int_equal(error_is_of_source(-err), means == MEANS_REFUSED || means == MEANS_UNREADABLE);
		assert_int_equal(error_is_about_file(-err), error_is_of_source(-err) || err == ENOMEM);
	}
	assert_int_equal(error_meaning(1), MEANS_SUCCESS);
}

/* A server's ESTALE is not a file that was replaced. */
CASE(stale_handle_of_a_server_is_unreadable)
{
	assert_int_equal(error_of_source(ESTALE), -EREMOTEIO);
	assert_int_equal(error_of_source(ENOTCONN), -ENOTCONN);
	assert_int_equal(error_meaning(error_of_source(ESTALE)), MEANS_UNREADABLE);
}

RUN_CASES(NULL, NULL)
