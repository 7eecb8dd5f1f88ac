import Glibc

/// What a process has of the machine just now, by the kernel's account of it (proc(5)).
struct ProcessCost {
  /// VmRSS in KiB: pages of programs and libraries that others share are in it.
  let resident: Double
  /// RssAnon in KiB: the process' own.
  let anonymous: Double
  let descriptors: Int
  /// Of processor time since its start.
  let seconds: Double

  init(of pid: pid_t) throws {
    let text = try wholeFile("/proc/\(pid)/status")
    func number(_ name: String) throws -> Double {
      let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
      guard let word = line?.split(whereSeparator: \.isWhitespace).dropFirst().first,
        let kib = Double(word)
      else { throw BenchError("no \(name) of process \(pid)") }
      return kib
    }
    resident = try number("VmRSS")
    anonymous = try number("RssAnon")
    descriptors = try Self.entries(of: "/proc/\(pid)/fd")
    seconds = try Self.seconds(of: pid)
  }

  /// What its threads ran, in nanoseconds; the kernel's other account counts in hundredths.
  private static func seconds(of pid: pid_t) throws -> Double {
    var clock = clockid_t()
    var time = timespec()
    guard clock_getcpuclockid(pid, &clock) == 0, clock_gettime(clock, &time) == 0 else {
      throw BenchError("no processor time of process \(pid)")
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
