import Glibc
package import UsherCore

/// The subordinate ids that each user may use in user namespaces, as listed in `/etc/subuid`
/// (subuid(5)).
///
/// Debian gives each user 65,536 subordinate ids. A per-user limit counts a caller with such an id
/// as the user that the id belongs to. Otherwise one user would have each limit 65,536 times.
package struct SubordinateUsers: Sendable, Equatable {
  /// The lowest id that counts as subordinate while it is not known to whom it belongs. The users
  /// and services of a machine have lower ids, and subordinate ids are higher (`SUB_UID_MIN` of
  /// login.defs(5): 100,000).
  package static let firstUnsure: UInt32 = 65_536

  private struct Range: Equatable {
    let ids: ClosedRange<UInt32>
    let owner: SubordinateOwner
    /// The highest id of this range and all ranges before it in the sorted list, so that a search
    /// can stop early.
    var highestID: UInt32 = 0
  }

  /// The ranges, sorted by first id, then by position in the file.
  private let ranges: [Range]
  /// Whether the complete file was read. If not, an id may belong to a range that is not in
  /// ``ranges``.
  private let isComplete: Bool
  package let gaps: Gaps

  /// The state before any file was read: an id from ``firstUnsure`` on may belong to any user.
  package static let unread = SubordinateUsers(ranges: [], isComplete: false, gaps: Gaps())
}

extension SubordinateUsers {
  /// Parses the content of `/etc/subuid`.
  ///
  /// - Parameters:
  ///   - file: Lines such as `anna:100000:65536`.
  ///   - isComplete: Whether `file` is the complete content. False if the file was cut at a size
  ///     limit.
  ///   - user: Returns the uid of a user name; nil if no user has this name.
  package init(
    _ file: [UInt8], isComplete: Bool = true, user: (String) throws(Errno) -> UInt32?
  ) {
    var ranges: [Range] = []
    var gaps = Gaps()
    gaps.isCut = !isComplete
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
          do throws(Errno) {
            owner = try user(name).map { .user($0) } ?? .unknown
          } catch {
            gaps.addFailure(name, error.words)
          }
        }
        ranges.append(Range(ids: ids, owner: owner))
      }
    }
    self.init(ranges: Self.ordered(ranges), isComplete: isComplete, gaps: gaps)
  }

  private static func ordered(_ ranges: [Range]) -> [Range] {
    var ranges = ranges.enumerated()
      .sorted { ($0.element.ids.lowerBound, $0.offset) < ($1.element.ids.lowerBound, $1.offset) }
      .map(\.element)
    var highestID: UInt32 = 0
    for place in ranges.indices {
      highestID = max(highestID, ranges[place].ids.upperBound)
      ranges[place].highestID = highestID
    }
    return ranges
  }

  package init(_ text: String = "", user: (String) -> UInt32? = { _ in nil }) {
    self.init(Array(text.utf8)) { user($0) }
  }

  /// Reads the machine's current `/etc/subuid`. May query a remote user database, so it must not be
  /// called on an event loop.
  ///
  /// - Returns: The ranges; empty if the file does not exist. Nil if the file exists and cannot be
  ///   read.
  package static func ofSystem(
    path: String = "/etc/subuid", atMost limit: Int = 4 << 20
  ) -> SubordinateUsers? {
    do throws(Errno) {
      var bytes = try Descriptor.open(path, O_RDONLY).read(atMost: limit + 1)
      let isComplete = bytes.count <= limit
      if !isComplete {
        // The last line is incomplete, because the file was cut at the limit.
        let end = bytes.lastIndex(of: UInt8(ascii: "\n")) ?? 0
        bytes.removeSubrange(end...)
      }
      return SubordinateUsers(bytes, isComplete: isComplete, user: SystemUsers.userID(named:))
    } catch {
      return error.code == ENOENT ? SubordinateUsers() : nil
    }
  }

  /// Returns the user to whose limits this uid counts, or the uid itself if it is in no range.
  package func owner(of uid: UInt32) -> UInt32 { user(ofSubordinate: uid) ?? uid }

  /// Returns the user to whose limits a subordinate id counts, or nil if the id is in no range.
  ///
  /// Ranges may overlap, so an id can have several owners. Then the known owner of the range with
  /// the highest first id is returned. If no owner is known, the first id of that range stands for
  /// the owner, so that the range as a whole has the limits of one user.
  package func user(ofSubordinate uid: UInt32) -> UInt32? {
    let ranges = ranges(with: uid)
    for range in ranges {
      if case .user(let user) = range.owner { return user }
    }
    return ranges.first?.ids.lowerBound
  }

  /// Returns all users that a subordinate id may belong to, including `.unknown`.
  /// Empty if the id is not a subordinate id.
  package func owners(ofSubordinate uid: UInt32) -> [SubordinateOwner] {
    var owners: [SubordinateOwner] = []
    for range in ranges(with: uid) where !owners.contains(range.owner) {
      owners.append(range.owner)
    }
    if owners.isEmpty, !isComplete, uid >= Self.firstUnsure { owners.append(.unknown) }
    return owners
  }

  /// Returns the ranges that contain an id, the one with the highest first id first.
  private func ranges(with uid: UInt32) -> [Range] {
    var (low, high) = (0, ranges.count)
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].ids.lowerBound <= uid { low = middle + 1 } else { high = middle }
    }
    var found: [Range] = []
    // Ranges may overlap, so a range with a lower first id may contain the id too.
    while low > 0, ranges[low - 1].highestID >= uid {
      if ranges[low - 1].ids.contains(uid) { found.append(ranges[low - 1]) }
      low -= 1
    }
    return found
  }
}
