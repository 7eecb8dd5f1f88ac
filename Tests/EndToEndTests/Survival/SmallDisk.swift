import Foundation
import UsherTestKit

/// A file system of a few megabytes in a mount namespace of its own, which can be filled and
/// emptied while the daemon uses it.
final class SmallDisk {
  private let keeper: RunningProgram
  private let mountPoint: String

  /// - Parameter place: Its folder `state` is the mount point for programs started by ``launcher``.
  init(in place: TemporaryDirectory, megabytes: Int = 3) throws {
    mountPoint = place.file("state")
    try FileManager.default.createDirectory(
      atPath: mountPoint, withIntermediateDirectories: false)
    keeper = try RunningProgram(
      "/usr/bin/unshare",
      [
        "--user", "--map-root-user", "--mount", "sh", "-c",
        "mount -t tmpfs -o size=\(megabytes)m,mode=700 tmpfs \"$0\" && echo mounted && exec sleep 3600",
        mountPoint,
      ], log: place.file("disk.log"))
    try eventually("a small disk is mounted (user namespaces are needed)") { [keeper] in
      try must(keeper.isRunning, "the small disk was not mounted: \(keeper.log)")
      return keeper.log.contains("mounted")
    }
  }

  deinit { keeper.killAtOnce() }

  /// The command that starts a program in the mount namespace of the small disk.
  var launcher: [String] {
    [
      "/usr/bin/nsenter", "--target", "\(keeper.pid)", "--user", "--mount",
      "--preserve-credentials",
    ]
  }

  /// The root of the small disk, as a path of this process.
  var path: String { "/proc/\(keeper.pid)/root\(mountPoint)" }

  /// Fills the disk to its last block.
  func fill() throws {
    let file = open("\(path)/ballast", O_WRONLY | O_CREAT | O_APPEND, 0o600)
    try must(
      file >= 0, "cannot create the file that fills the disk: \(String(cString: strerror(errno)))")
    defer { close(file) }
    let block = [UInt8](repeating: 0xBA, count: 4096)
    while write(file, block, block.count) > 0 {}
    try must(errno == ENOSPC, "cannot fill the disk: \(String(cString: strerror(errno)))")
  }

  func empty() throws { try FileManager.default.removeItem(atPath: "\(path)/ballast") }

  /// Remounts the disk read-only; no file on it may be open for writing.
  func makeReadOnly() throws {
    let mount = Array(launcher.dropFirst()) + ["mount", "-o", "remount,ro", mountPoint]
    let done = try run(launcher[0], mount)
    try must(done.status == 0, "cannot remount the disk read-only: \(done.errors)")
  }
}
