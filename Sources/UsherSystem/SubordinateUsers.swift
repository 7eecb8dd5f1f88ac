import Glibc

/// Which user may be which others, in user namespaces of its own: `/etc/subuid` (subuid(5)).
///
/// A user has 65,536 subordinate ids as Debian sets it up. Limits per user count all of them as that
/// user's: else it would have each limit 65,536 times.
package struct SubordinateUsers: Sendable, Equatable {
  private struct Range: Equatable {
    let ids: ClosedRange<UInt32>
    let owner: UInt32
    /// The last id of this range and of all before it.
    var reach: UInt32 = 0
  }

  /// By their first id.
  private let ranges: [Range]

  /// - Parameters:
  ///   - text: Of the file: lines such as `anna:100000:65536`. Others are skipped.
  ///   - user: The uid of a name; where it has none, the first id of a range stands for its owner.
  package init(_ text: String = "", user: (String) -> UInt32? = { _ in nil }) {
    var ranges: [Range] = []
    for line in text.split(separator: "\n") {
      let fields = line.split(separator: ":", omittingEmptySubsequences: false)
      guard fields.count == 3, let first = UInt32(fields[1]), let count = UInt32(fields[2]),
        count > 0
      else { continue }
      let (last, isOver) = first.addingReportingOverflow(count - 1)
      let owner = UInt32(fields[0]) ?? user(String(fields[0])) ?? first
      ranges.append(Range(ids: first...(isOver ? .max : last), owner: owner))
    }
    ranges.sort { $0.ids.lowerBound < $1.ids.lowerBound }
    var reach: UInt32 = 0
    for place in ranges.indices {
      reach = max(reach, ranges[place].ids.upperBound)
      ranges[place].reach = reach
    }
    self.ranges = ranges
  }

  /// As this machine has it now. May ask a user database that is far away: not from an event loop.
  ///
  /// - Returns: Nil where the file is there and cannot be read.
  package static func ofSystem(path: String = "/etc/subuid") -> SubordinateUsers? {
    do throws(Errno) {
      let bytes = try Descriptor.open(path, O_RDONLY).read(atMost: 1 << 20)
      return SubordinateUsers(
        String(decoding: bytes, as: UTF8.self), user: SystemUsers.userID(named:))
    } catch {
      return error.code == ENOENT ? SubordinateUsers() : nil
    }
  }

  package var isEmpty: Bool { ranges.isEmpty }

  /// The user whose limits count for this one; itself where it is nobody's.
  package func owner(of uid: UInt32) -> UInt32 { user(ofSubordinate: uid) ?? uid }

  /// The user that a subordinate id belongs to; nil for an id that is in no range.
  package func user(ofSubordinate uid: UInt32) -> UInt32? {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].ids.lowerBound <= uid { low = middle + 1 } else { high = middle }
    }
    // Ranges may overlap: one that begins earlier may have the id.
    while low > 0, ranges[low - 1].reach >= uid {
      if ranges[low - 1].ids.contains(uid) { return ranges[low - 1].owner }
      low -= 1
    }
    return nil
  }
}
