"""Speculative sampling of trees: of what a small model has drafted, a large one keeps a path, and adds one token.

    kernel, hyperparams, dynamic_symbols = get_speculative_sampling_kernel(batch, spec_tokens, 1.0, 1.0, draft_tokens, vocab, seq_len)

Of each sequence, the tree is walked from its root. At a node, the children are asked one after the other: one is kept if
the coin is at most the probability of those asked so far, over `threshold_acc`, or if its own is at least
`threshold_single`. Where none is kept, one more token is drawn from what the large model finds more likely.
"""

import sympy

import wave_lang.kernel.lang as tkl
import wave_lang.kernel.wave as tkw
from wave_lang.kernel.lang.global_symbols import GET_ITER_ARG, GLOBAL_ADDRESS_SPACE

from . import attention_common as common

BATCH_SIZE, NUM_DRAFT_TOKENS, VOCAB_SIZE = tkl.sym.BATCH_SIZE, tkl.sym.NUM_DRAFT_TOKENS, tkl.sym.VOCAB_SIZE
NUM_SPECULATIVE_TOKENS, SEQ_LEN, BLOCK_VOCAB = tkl.sym.NUM_SPECULATIVE_TOKENS, tkl.sym.SEQ_LEN, tkl.sym.BLOCK_VOCAB_SIZE
# The depth in the tree, the node that is asked, the one whose children they are, its token, and where results go.
DEPTH, NODE = sympy.Symbol("DEPTH", integer=True), sympy.Symbol("NODE", integer=True)
PARENT, TOKEN, KEPT, LAST = tkl.sym.PARENT, tkl.sym.TOKEN, tkl.sym.KEPT, tkl.sym.LAST
NOWHERE = 2**31 - 1


def _at(memory, **places):
    """One element of each sequence."""
    return common.read_as(memory, (BATCH_SIZE,), {getattr(tkl.sym, dim): place for dim, place in places.items()})


def _put(value, memory, **places):
    common.write_as(value, memory, (BATCH_SIZE,), {getattr(tkl.sym, dim): place for dim, place in places.items()})


def get_speculative_sampling_kernel(
    batch_size, num_speculative_tokens, threshold_acc, threshold_single, num_draft_tokens, vocab_size, seq_len
):
    """The kernel that walks the trees of all sequences, and draws."""
    constraints = [
        tkw.WorkgroupConstraint(BATCH_SIZE, 1, 0),
        tkw.TilingConstraint(VOCAB_SIZE, BLOCK_VOCAB),
        tkw.TilingConstraint(DEPTH),
        tkw.TilingConstraint(NODE),
        tkw.HardwareConstraint(threads_per_wave=64),
    ]

    def draw(target_probs, draft_probs, coin, is_whole):
        """A token by the probabilities of the large model beyond those that were refused, after node PARENT."""
        tile, rows = (BATCH_SIZE, VOCAB_SIZE), (BATCH_SIZE,)

        def residual():
            target, refused = (common.read_as(each, tile, {NUM_DRAFT_TOKENS: PARENT}) for each in (target_probs, draft_probs))
            return tkw.maximum(target - tkw.select(is_whole, 0.0, refused), 0.0)

        @tkw.iterate(VOCAB_SIZE, init_args=[tkl.Register[rows, tkl.f32](0.0)])
        def total(before):
            return tkw.sum(residual(), before, dim=VOCAB_SIZE)

        threshold = coin * total
        inits = [tkl.Register[rows, tkl.f32](0.0), tkl.Register[rows, tkl.i32](NOWHERE), tkl.Register[rows, tkl.i32](-1)]

        @tkw.iterate(VOCAB_SIZE, init_args=inits)
        def search(before, found, last):
            weights = residual()
            token = tkw.broadcast(tkw.self_index(VOCAB_SIZE, tkl.i32), target_shape=list(tile))
            beyond = tkw.cumsum(weights, before, dim=VOCAB_SIZE) > tkw.broadcast(threshold, target_shape=list(tile))
            first = tkw.min(tkw.select(beyond, token, NOWHERE), found, dim=VOCAB_SIZE)
            return tkw.sum(weights, before, dim=VOCAB_SIZE), first, tkw.max(tkw.select(weights > 0.0, token, -1), last, dim=VOCAB_SIZE)

        # Roundoff may leave the threshold beyond the last sum; where nothing is left, the last token is taken.
        _, found, last = search
        return tkw.minimum(found, tkw.select(last >= 0, last, vocab_size - 1))

    @tkw.wave(constraints)
    def speculative_sampling(
        uniform_samples: tkl.Memory[BATCH_SIZE, NUM_DRAFT_TOKENS, GLOBAL_ADDRESS_SPACE, tkl.f32],
        uniform_samples_for_final_sampling: tkl.Memory[BATCH_SIZE, GLOBAL_ADDRESS_SPACE, tkl.f32],
        target_probs: tkl.Memory[BATCH_SIZE, NUM_DRAFT_TOKENS, VOCAB_SIZE, GLOBAL_ADDRESS_SPACE, tkl.f32],
        draft_probs: tkl.Memory[BATCH_SIZE, NUM_DRAFT_TOKENS, VOCAB_SIZE, GLOBAL_ADDRESS_SPACE, tkl.f32],
        candidates: tkl.Memory[BATCH_SIZE, NUM_DRAFT_TOKENS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        retrieve_index: tkl.Memory[BATCH_SIZE, NUM_DRAFT_TOKENS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        retrieve_next_token: tkl.Memory[BATCH_SIZE, NUM_DRAFT_TOKENS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        retrieve_next_sibling: tkl.Memory[BATCH_SIZE, NUM_DRAFT_TOKENS, GLOBAL_ADDRESS_SPACE, tkl.i32],
        num_spec_tokens: tkl.i32,
        predicts: tkl.Memory[SEQ_LEN, GLOBAL_ADDRESS_SPACE, tkl.i32],
        accept_token_num: tkl.Memory[BATCH_SIZE, GLOBAL_ADDRESS_SPACE, tkl.i32],
        accept_index: tkl.Memory[BATCH_SIZE, NUM_SPECULATIVE_TOKENS, GLOBAL_ADDRESS_SPACE, tkl.i32],
    ):
        none = tkl.Register[BATCH_SIZE, tkl.i32](0)
        no_probability = tkl.Register[BATCH_SIZE, tkl.f32](0.0)
        root = _at(retrieve_index, NUM_DRAFT_TOKENS=0)
        _put(root, accept_index, NUM_SPECULATIVE_TOKENS=0)

        # A level of the tree: goes on while its node has a child that is kept. Carried are the node, how many are kept,
        # where the last one's token goes, the coin, and whether the path has ended.
        walking = (DEPTH < NUM_SPECULATIVE_TOKENS) & sympy.Eq(GET_ITER_ARG(4), 0)

        @tkw.iterate(
            DEPTH, start=tkw.scalar(1, tkl.i32), condition=walking, init_args=[none, none, root, _at(uniform_samples, NUM_DRAFT_TOKENS=0), none]
        )
        def levels(parent, kept, last, coin, ended):
            tkw.set_symbol(PARENT, parent)
            first = _at(retrieve_next_token, NUM_DRAFT_TOKENS=PARENT)
            asking = (NODE >= 0) & sympy.Eq(GET_ITER_ARG(5), 0)

            @tkw.iterate(NODE, start=first, condition=asking, init_args=[parent, kept, last, coin, no_probability, none])
            def children(parent, kept, last, coin, probability, is_kept):
                token, place = _at(candidates, NUM_DRAFT_TOKENS=NODE), _at(retrieve_index, NUM_DRAFT_TOKENS=NODE)
                tkw.set_symbol(TOKEN, token)
                own = _at(target_probs, NUM_DRAFT_TOKENS=PARENT, VOCAB_SIZE=TOKEN)
                probability = probability + own
                keeps = (coin <= probability / threshold_acc) | (own >= threshold_single)
                tkw.set_symbol(LAST, last)
                tkw.set_symbol(KEPT, kept + 1)

                @tkw.conditional(keeps)
                def keep():
                    _put(token, predicts, SEQ_LEN=LAST)
                    _put(place, accept_index, NUM_SPECULATIVE_TOKENS=KEPT)

                # What was refused is not drawn in the end.
                @tkw.conditional(~keeps)
                def refuse():
                    _put(own, draft_probs, NUM_DRAFT_TOKENS=PARENT, VOCAB_SIZE=TOKEN)

                node = tkl.Register[BATCH_SIZE, tkl.i32](NODE)
                following = _at(retrieve_next_sibling, NUM_DRAFT_TOKENS=NODE)
                parent, last = tkw.select(keeps, node, parent), tkw.select(keeps, place, last)
                coin = tkw.select(keeps, _at(uniform_samples, NUM_DRAFT_TOKENS=NODE), coin)
                tkw.set_symbol(NODE, tkw.select(keeps, node, following))
                return parent, tkw.select(keeps, kept + 1, kept), last, coin, probability, tkw.cast(keeps, tkl.i32)

            parent, kept, last, coin, _, is_kept = children
            tkw.set_symbol(DEPTH, tkw.scalar(DEPTH + 1, tkl.i32))
            return parent, kept, last, coin, 1 - is_kept

        parent, kept, last, _, _ = levels
        tkw.write(kept, accept_token_num)
        tkw.set_symbol(PARENT, parent)
        tkw.set_symbol(LAST, last)
        is_whole = kept == tkw.broadcast(num_spec_tokens - 1, target_shape=[BATCH_SIZE])
        token = draw(target_probs, draft_probs, tkw.read(uniform_samples_for_final_sampling), is_whole)
        _put(token, predicts, SEQ_LEN=LAST)

    hyperparams = {BATCH_SIZE: batch_size, NUM_DRAFT_TOKENS: num_draft_tokens, VOCAB_SIZE: vocab_size, SEQ_LEN: seq_len}
    hyperparams |= {NUM_SPECULATIVE_TOKENS: num_speculative_tokens, BLOCK_VOCAB: min(512, 64 * -(-vocab_size // 64))}
    return speculative_sampling, hyperparams, []
