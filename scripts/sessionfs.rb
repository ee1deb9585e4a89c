# SPDX-License-Identifier: MIT
# The Homebrew formula. `make dist` writes it to dist/ with the version and the sum of the tarball. The publisher of the
# tarball sets its address.
class Sessionfs < Formula
  desc "Sessions of the pi coding agent as files, without the mount"
  homepage "https://packages.invalid/sessionfs"
  url "https://packages.invalid/sessionfs-@VERSION@.tar.gz"
  sha256 "@SHA256@"
  license "MIT"

  depends_on "md4c"
  depends_on "utf8proc"

  def install
    system "make", "PREFIX=#{prefix}", "install"
  end

  test do
    assert_match "sessionfs #{version}", shell_output("#{bin}/sessionfs --version")
    (testpath/"src/--a--").mkpath
    (testpath/"src/--a--/s.jsonl").write <<~EOS
      {"type":"session","version":3,"id":"i","timestamp":"2026-03-02T09:15:03.460Z","cwd":"/a"}
    EOS
    assert_equal "/a", shell_output("#{bin}/sessionfs -S #{testpath}/src --cat projects/a/s/cwd").chomp
  end
end
