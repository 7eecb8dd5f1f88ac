import Glibc

/// The resources that a process uses now, as the kernel counts them (proc(5)).
struct ProcessCost {
  /// VmRSS in KiB: includes pages that are shared with other processes.
  let resident: Double
  /// RssAnon in KiB: the memory of this process alone.
  let anonymous: Double
  let descriptors: Int
  /// The processor time since the start of the process.
  let seconds: Double

  init(of pid: pid_t) throws {
    let text = try wholeFile("/proc/\(pid)/status")
    func number(_ name: String) throws -> Double {
      let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
      guard let word = line?.split(whereSeparator: \.isWhitespace).dropFirst().first,
        let kib = Double(word)
      else { throw BenchError("cannot read \(name) of process \(pid)") }
      return kib
    }
    resident = try number("VmRSS")
    anonymous = try number("RssAnon")
    descriptors = try Self.entries(of: "/proc/\(pid)/fd")
    seconds = try Self.seconds(of: pid)
  }

  /// Reads the processor time of all threads, in nanoseconds. /proc/PID/stat has only hundredths of
  /// a second.
  private static func seconds(of pid: pid_t) throws -> Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      throw BenchError("cannot read the processor time of process \(pid)")
    }
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1_000_000_000
  }

  private static func entries(of directory: String) throws -> Int {
    guard let listing = opendir(directory) else {
      throw BenchError("\(directory) cannot be read")
    }
    defer { closedir(listing) }
    var count = 0
    while let entry = readdir(listing) {
      if withUnsafeBytes(of: entry.pointee.d_name, { $0[0] != UInt8(ascii: ".") }) { count += 1 }
    }
    return count
  }
}
