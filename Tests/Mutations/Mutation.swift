import Glibc

/// Whether `USHER_MUTATION` names this mutation.
///
/// `.ci/check-mutations` copies this file into each module that a mutation changes. The product
/// does not contain it.
func isMutationActive(_ name: String) -> Bool { activeMutation == name }

private let activeMutation = getenv("USHER_MUTATION").map { String(cString: $0) }
