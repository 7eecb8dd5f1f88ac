import Glibc
package import UsherCore

/// Which user may be which others, in user namespaces of its own: `/etc/subuid` (subuid(5)).
///
/// A user has 65,536 subordinate ids as Debian sets it up. Limits per user count all of them as that
/// user's: else it would have each limit 65,536 times.
package struct SubordinateUsers: Sendable, Equatable {
  /// The lowest id that counts as subordinate while it is not known whose it is. Users and services
  /// of a machine are below it, subordinate ids are not (`SUB_UID_MIN` of login.defs(5): 100,000).
  package static let firstUnsure: UInt32 = 65_536

  private struct Range: Equatable {
    let ids: ClosedRange<UInt32>
    let owner: SubordinateOwner
    /// The last id of this range and of all before it.
    var reach: UInt32 = 0
  }

  /// By their first id, then as they stand in the file.
  private let ranges: [Range]
  /// False where there may be ranges that were not read.
  private let isComplete: Bool
  package let gaps: Gaps

  /// No file has been read: an id from ``firstUnsure`` on may be anybody's.
  package static let unread = SubordinateUsers([], isComplete: false, Gaps())

  private init(_ ranges: [Range], isComplete: Bool, _ gaps: Gaps) {
    self.ranges = ranges
    self.isComplete = isComplete
    self.gaps = gaps
  }

  /// - Parameters:
  ///   - file: Lines such as `anna:100000:65536`.
  ///   - isWhole: False where the file goes on.
  ///   - user: Finds the uid of a name.
  package init(_ file: [UInt8], isWhole: Bool = true, user: (String) -> UserNumberLookup) {
    var ranges: [Range] = []
    var gaps = Gaps()
    gaps.isCut = !isWhole
    let lines = file.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    for (place, line) in lines.enumerated() {
      switch SubordinateLine(line) {
      case .empty: continue
      case .malformed: gaps.addLine(place + 1)
      case .range(let name, let ids):
        var owner = SubordinateOwner.unknown
        if let number = UInt32(name) {
          owner = .user(number)
        } else {
          switch user(name) {
          case .number(let number): owner = .user(number)
          case .nobody: break
          case .failed(let cause): gaps.addFailure(name, cause)
          }
        }
        ranges.append(Range(ids: ids, owner: owner))
      }
    }
    self.init(Self.ordered(ranges), isComplete: isWhole, gaps)
  }

  private static func ordered(_ ranges: [Range]) -> [Range] {
    var ranges = ranges.enumerated()
      .sorted { ($0.element.ids.lowerBound, $0.offset) < ($1.element.ids.lowerBound, $1.offset) }
      .map(\.element)
    var reach: UInt32 = 0
    for place in ranges.indices {
      reach = max(reach, ranges[place].ids.upperBound)
      ranges[place].reach = reach
    }
    return ranges
  }

  package init(_ text: String = "", user: (String) -> UInt32? = { _ in nil }) {
    self.init(Array(text.utf8)) { user($0).map { .number($0) } ?? .nobody }
  }

  /// As this machine has it now. May ask a user database that is far away: not from an event loop.
  ///
  /// - Returns: Nil where the file is there and cannot be read.
  package static func ofSystem(
    path: String = "/etc/subuid", atMost limit: Int = 4 << 20
  ) -> SubordinateUsers? {
    do throws(Errno) {
      var bytes = try Descriptor.open(path, O_RDONLY).read(atMost: limit + 1)
      let isWhole = bytes.count <= limit
      if !isWhole {
        // Without the line that was cut.
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")) ?? 0
        bytes.removeSubrange(end...)
      }
      return SubordinateUsers(bytes, isWhole: isWhole, user: SystemUsers.number(ofUser:))
    } catch {
      return error.code == ENOENT ? SubordinateUsers() : nil
    }
  }

  /// The user whose limits count for this one; itself where it is nobody's.
  package func owner(of uid: UInt32) -> UInt32 { user(ofSubordinate: uid) ?? uid }

  /// The user whose limits count for a subordinate id; nil for an id that is in no range.
  ///
  /// If an id has several owners, the known one whose range begins last counts. If none is known, the first id
  /// of the range stands for its owner: a range has the limits of one user all the same.
  package func user(ofSubordinate uid: UInt32) -> UInt32? {
    let ranges = ranges(with: uid)
    for range in ranges {
      if case .user(let user) = range.owner { return user }
    }
    return ranges.first?.ids.lowerBound
  }

  /// All users that a subordinate id may belong to; none for an id that is nobody's.
  package func owners(ofSubordinate uid: UInt32) -> [SubordinateOwner] {
    var owners: [SubordinateOwner] = []
    for range in ranges(with: uid) where !owners.contains(range.owner) {
      owners.append(range.owner)
    }
    if owners.isEmpty, !isComplete, uid >= Self.firstUnsure { owners.append(.unknown) }
    return owners
  }

  /// Returns the ranges that have an id, the one that begins last first.
  private func ranges(with uid: UInt32) -> [Range] {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].ids.lowerBound <= uid { low = middle + 1 } else { high = middle }
    }
    var found: [Range] = []
    // Ranges may overlap: one that begins earlier may have the id, too.
    while low > 0, ranges[low - 1].reach >= uid {
      if ranges[low - 1].ids.contains(uid) { found.append(ranges[low - 1]) }
      low -= 1
    }
    return found
  }
}
